"""English words, by what they do in a statement. Left: the concept that both languages share."""

COPULAS = "is are am be being been 's 're 'm"
PLURAL_COPULAS = "are 're"
ARTICLES = "the"
IGNORED = (
    "a an the this that these those it its there he she they we i you his her their our my your "
    "and or also just very still really every each all only than as s own so such 've "
    "himself herself themselves myself another again already yet "
    "do does did to team project company us me him them who which what please "
    "current always usually must should can"
)
PRONOUNS = "it he she they"
FIRST_PERSON = "i my"
POSSESSIVES = "my his her their its our your"
TITLES = "dr mr mrs ms doctor professor"
CONJUNCTIONS = "and so then"
COMPARED = "to over above"
BEFORE_VERBS = (
    "i we they you do does can could should must to always usually never not please also now just "
    "only still who"
)
NOUNS = "work use report need drink call play lead study cost target"
FRESH = "now currently nowadays since today"
NEGATORS = "not no never cannot nobody none neither"
PREPOSITIONS = {
    "in": "in into inside within",
    "at": "at",
    "on": "on onto upon",
    "to": "to toward towards",
    "from": "from",
    "with": "with",
    "for": "for",
    "of": "of",
    "by": "by",
    "until": "until till",
    "after": "after",
    "before": "before",
    "above": "above over",
    "under": "under below",
    "about": "about",
    "as": "as",
    "per": "per",
    "during": "during",
    "between": "between among across",
    "through": "through via",
}
VERBS = {
    "live": "live lives reside resides",
    "work": "work works",
    "use": "use uses",
    "run": "run runs",
    "report": "reports",
    "have": "has have",
    "like": "like likes love loves enjoy enjoys adore adores",
    "prefer": "prefer prefers",
    "want": "want wants need needs",
    "speak": "speak speaks",
    "know": "know knows",
    "play": "plays",
    "read": "reads",
    "write": "writes written",
    "return": "returns",
    "listen": "listen listens",
    "expire": "expire expires",
    "start": "starts begin begins",
    "end": "ends finish finishes",
    "store": "store stores stored keep keeps kept",
    "support": "supports",
    "require": "requires",
    "eat": "eat eats",
    "drink": "drinks",
    "lead": "leads",
    "own": "owns",
    "belong": "belong belongs",
    "happen": "happen happens occur occurs",
    "go": "go goes",
    "take": "take takes",
    "include": "include includes",
    "accept": "accept accepts",
    "call": "named called",
    "host": "host hosts hosted",
    "deploy": "deployed",
    "assign": "assigned",
    "fix": "fixes",
    "allow": "allow allows permit permits",
    "sit": "sit sits",
    "study": "studies",
    "cost": "costs",
    "learn": "learn learns",
    "target": "targets",
    "expose": "exposes",
    "attend": "attends",
    "drive": "drives",
    "date": "dates",
    "pay": "pays",
    "rent": "rents",
    "send": "sends sent ships shipped delivers delivered",
    "track": "tracks",
    "subscribe": "subscribes subscribed",
    "bank": "banks",
    "weigh": "weighs",
    "sleep": "sleeps",
    "wake": "wakes",
    "travel": "travels flies",
    "walk": "walks",
    "wear": "wears",
    "save": "saves",
    "earn": "earns",
    "spend": "spends",
    "charge": "charges",
    "serve": "serves",
    "handle": "handles manages",
    "cover": "covers",
    "teach": "teaches",
    "order": "orders",
    "cook": "cooks",
    "visit": "visits",
    "follow": "follows",
    "practice": "practices practises",
    "arrive": "arrives lands",
    "leave": "leaves departs",
    "close": "closes",
    "open": "opens",
    "answer": "answers replies responds",
    "review": "reviews",
    "approve": "approves",
    "smoke": "smokes",
    "trust": "trusts",
}
AUXILIARIES = "do does"
BASES = (
    "report play read write return start begin end finish support require drink lead own fix cost "
    "target expose host deploy attend drive pay rent send ship track subscribe bank weigh sleep "
    "wake travel walk wear save earn spend charge serve handle manage cover teach cook visit "
    "follow practice arrive land close open answer reply respond review approve smoke trust"
)
FLIPPED_VERBS = {
    "include": "exclude excludes omit omits",
    "accept": "reject rejects refuse refuses",
    "allow": "forbid forbids prohibit prohibits",
    "like": "hate hates dislike dislikes detest detests avoid avoids",
}
SLOT_NOUNS = {
    "database": "database databases db",
    "deadline": "deadline",
    "owner": "owner",
    "boss": "manager boss supervisor",
    "lead": "lead leader",
    "region": "region",
    "license": "license licence",
    "broker": "broker",
    "color": "color colour",
    "codename": "codename",
    "branch": "branch",
    "editor": "editor",
    "pronouns": "pronouns",
    "provider": "provider vendor",
    "language": "language",
    "currency": "currency",
    "timezone": "timezone",
    "email": "email e-mail",
    "address": "address",
    "name": "name nickname",
    "domain": "domain",
    "framework": "framework",
    "director": "director ceo cto cfo head",
    "status": "status",
    "queue": "queue",
    "favorite": "favorite favourite",
}
WORDS = {
    "timeout": "timeout",
    "standup": "standup daily-meeting",
    "user": "user",
    "office": "office",
    "room": "room",
    "floor": "floor",
    "port": "port",
    "limit": "limit",
    "upload": "upload uploads",
    "main": "main primary",
    "maximum": "max maximum",
    "minimum": "min minimum",
    "enabled": "enabled",
    "allow": "allowed permitted",
    "mandatory": "mandatory required compulsory",
    "allergy": "allergic",
    "coffee": "coffee",
    "tea": "tea",
    "peanut": "peanut peanuts",
    "pollen": "pollen",
    "meeting": "meeting meetings",
    "ticket": "ticket tickets issue issues incident task",
    "answer": "answer answers response responses reply replies",
    "service": "service services",
    "release": "release releases",
    "budget": "budget",
    "node": "node nodes",
    "team-member": "people members",
    "flight": "flight flights",
    "birthday": "birthday",
    "doctor": "physician gp",
    "pill": "pill pills tablet tablets",
    "dose": "dose dosage",
    "milk": "milk",
    "meat": "meat",
    "fish": "fish",
    "shellfish": "shellfish",
    "penicillin": "penicillin",
    "wheat": "wheat",
    "gluten": "gluten",
    "dog": "dog dogs",
    "cat": "cat cats",
    "car": "car cars",
    "phone": "phone",
    "laptop": "laptop",
    "rent": "rent",
    "price": "price fee",
    "week": "weeks",
    "daughter": "daughter",
    "son": "son",
    "mother": "mother mom mum",
    "father": "father dad",
    "wife": "wife",
    "husband": "husband",
    "school": "school",
    "hotel": "hotel",
    "invoice": "invoice invoices",
    "customer": "customer customers client clients",
    "weekend": "weekend weekends",
    "weekday": "weekdays",
    "home": "home house flat apartment studio condo",
}
FLIPPED_WORDS = {
    "enabled": "disabled",
    "allow": "forbidden prohibited banned",
    "mandatory": "optional",
}
PHRASES = {
    "data base": "database",
    "product owner": "owner",
    "scrum master": "lead",
    "github actions": "github-actions",
    "due date": "deadline",
    "daily standup": "standup",
    "daily meeting": "standup",
    "takes place": "=happen",
    "take place": "=happen",
    "in use": "active",
    "turned on": "enabled",
    "switched on": "enabled",
    "turned off": "-enabled",
    "switched off": "-enabled",
    "no longer": "!ceased",
    "anymore": "!ceased",
    "any longer": "!ceased",
    "instead of": "!instead",
    "rather than": "!instead",
    "and not": "!contrast",
    "can't stand": "-=like",
    "cannot stand": "-=like",
    "went up": "!moved",
    "gone up": "!moved",
    "went down": "!moved",
    "gave up": "!given",
    "given up": "!given",
    "got rid of": "!given",
    "unsubscribed from": "!given",
    "broke up with": "!given",
    "split from": "!given",
    "on weekdays": "weekday",
    "during the week": "weekday",
    "credit card": "credit-card",
    "got married": "married",
    "get married": "married",
    "last summer": "!past",
    "last night": "!past",
    "has been": "=be",
    "have been": "=be",
    "has been to": "!past",
    "have been to": "!past",
    "is gone": "!ended",
    "not anymore": "!ceased",
    "used to": "!ceased",
    "stopped": "!ceased",
    "no more than": "limit",
    "no later than": "until",
    "not only": "",
    "shut down": "!ended",
    "was removed": "!ended",
    "was deleted": "!ended",
    "was retired": "!ended",
    "was decommissioned": "!ended",
    "was cancelled": "!ended",
    "by default": "default",
    "going to": "!open",
    "plans to": "!open",
    "planning to": "!open",
    "as of": "!fresh",
    "starting from": "!fresh",
    "decided to": "!fresh",
    "agreed to": "!fresh",
    "chose to": "!fresh",
    "at all": "",
    "last week": "!past",
    "last month": "!past",
    "last year": "!past",
    "had lunch": "!past",
    "had dinner": "!past",
}
OPEN_WORDS = (
    "if unless whether might could would will shall maybe perhaps probably "
    "considering thinking evaluating proposes proposed suggests assuming otherwise 'll 'd"
)
CONDITIONS = "when whenever while"
QUESTION_STARTS = "which what who whom whose where why how"
PAST_WORDS = (
    "was were had met gave went bought spoke wrote took made saw said ate drank came did ran sent "
    "told found got held built broke fell felt kept led lost paid won yesterday ago"
)
MOVED = (
    "moved switched migrated changed transferred relocated shifted upgraded downgraded rescheduled "
    "postponed increased raised lowered reduced extended shortened cut rose rewritten rewrote"
)
REPLACED = "replaced swapped"
LEFT = "left quit resigned"
GIVEN = "sold cancelled canceled dropped ditched abandoned closed deleted discontinued"
CHANGED_PARTICIPLES: dict[str, str] = {}
FIRST_FORMS = ""
MONTHS = "january february march april may june july august september october november december"
SHORT_MONTHS = "jan feb mar apr _ jun jul aug sep oct nov dec"
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
ORDINALS = ("first second third fourth fifth sixth seventh eighth ninth tenth",)
PAST_ENDINGS = ("ed",)
AMBIGUOUS_ENDINGS: tuple[str, ...] = ()
PARTICIPLE_ENDINGS = ("ed", "ing")
PARTICIPLES = "written built held run led kept sent stored hosted made"

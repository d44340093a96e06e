"""English verbs, by what they do in a statement. Left: the concept that both languages share."""

BEFORE_VERBS = (
    "i we they you do does can could should must to always usually never not please also now just "
    "only still who"
)
NOUNS = "work use report need drink call play lead study cost target"
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
PAST_WORDS = (
    "was were had met gave went bought spoke wrote took made saw said ate drank came did ran sent "
    "told found got held built broke fell felt kept led lost paid won yesterday ago"
)
MOVED = (
    "moved migrated transferred relocated shifted upgraded downgraded rescheduled postponed "
    "increased raised lowered reduced extended shortened cut rose rewritten rewrote"
)
CHANGED = "changed switched renamed"
REPLACED = "replaced swapped"
LEFT = "left quit resigned"
GIVEN = "sold cancelled canceled dropped ditched abandoned closed deleted discontinued"
CHANGED_PARTICIPLES: dict[str, str] = {}
FIRST_FORMS = ""
PAST_ENDINGS = ("ed",)
AMBIGUOUS_ENDINGS: tuple[str, ...] = ()
PARTICIPLE_ENDINGS = ("ed", "ing")
PARTICIPLES = "written built held run led kept sent stored hosted made"

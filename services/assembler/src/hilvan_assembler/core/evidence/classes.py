"""Words of both languages in classes: values that exclude each other, and names of one kind."""

EXCLUSIVE = {
    "frequency": {
        "hourly": "hourly",
        "daily": "daily diario diaria diarios diarias",
        "weekly": "weekly semanal semanales semanalmente",
        "fortnightly": "fortnightly biweekly quincenal quincenales",
        "monthly": "monthly mensual mensuales mensualmente",
        "quarterly": "quarterly trimestral trimestrales",
        "yearly": "yearly annual annually anual anuales",
    },
    "level": {
        "high": "high alta alto altas altos",
        "medium": "medium media medio",
        "low": "low baja bajo bajas bajos",
        "critical": "critical critica critico",
        "minor": "minor leve leves",
        "major": "major grave graves",
    },
    "openness": {
        "open": "open opened abierto abierta abiertos abiertas reopened",
        "closed": "closed cerrado cerrada cerrados cerradas",
    },
    "verdict": {
        "pending": "pending pendiente pendientes",
        "approved": "approved aprobado aprobada aprobados aprobadas",
        "rejected": "rejected rechazado rechazada rechazados rechazadas",
    },
    "color": {
        "red": "red rojo roja",
        "green": "green verde",
        "blue": "blue azul",
        "yellow": "yellow amarillo amarilla",
        "orange": "orange naranja",
        "purple": "purple morado morada",
        "black": "black negro negra",
        "white": "white blanco blanca",
    },
    "visibility": {
        "public": "public publico publica publicos publicas",
        "private": "private privado privada privados privadas",
    },
    "theme": {"dark": "dark oscuro oscura", "light": "light claro clara"},
    "indentation": {"tabs": "tabs tabuladores", "spaces": "spaces espacios"},
    "marital": {
        "married": "married casado casada",
        "single": "single soltero soltera",
        "divorced": "divorced divorciado divorciada",
    },
    "place": {
        "remote": "remote remotely remoto",
        "onsite": "onsite on-site presencial",
        "hybrid": "hybrid hibrido hibrida",
    },
    "tier": {
        "free": "free gratuito gratuita gratis",
        "basic": "basic basico basica starter",
        "standard": "standard estandar",
        "professional": "professional pro profesional",
        "business": "business empresarial",
        "premium": "premium",
        "advanced": "advanced avanzado avanzada",
        "enterprise": "enterprise",
    },
    "payment": {
        "paid": "paid pagado pagada pagados pagadas",
        "unpaid": "unpaid overdue impagado impagada",
    },
    "formality": {"formal": "formal", "informal": "informal casual"},
    "units": {"metric": "metric metrico metricas", "imperial": "imperial"},
    "seat": {"aisle": "aisle pasillo", "window": "window ventanilla"},
    "occupation": {"full-time": "full-time", "part-time": "part-time"},
    "activity": {
        "activ": "active activo activa activos activas",
        "inactive": "inactive inactivo inactiva",
    },
    "diet": {
        "vegetarian": "vegetarian vegetariano vegetariana",
        "vegan": "vegan vegano vegana",
    },
    "length": {
        "short": "short brief concise corto corta cortas cortos breve breves",
        "long": "long detailed largo larga largas largos detallada detalladas extensas",
    },
    "daypart": {
        "morning": "morning mornings manana mananas",
        "afternoon": "afternoon afternoons tarde tardes",
        "evening": "evening evenings",
        "night": "night nights noche noches",
    },
    "synchrony": {
        "synchronous": "synchronous sync sincrono sincrona",
        "asynchronous": "asynchronous async asincrono asincrona",
    },
    "language": {
        "english": "english ingles",
        "spanish": "spanish castellano",
        "french": "french frances",
        "german": "german aleman",
        "italian": "italian italiano",
        "portuguese": "portuguese portugues",
        "catalan": "catalan",
    },
}
NAMES = {
    "country": (
        "spain espana france francia germany alemania italy italia portugal mexico colombia "
        "peru chile argentina japan japon china india brazil brasil canada usa england inglaterra "
        "ireland irlanda europe europa switzerland suiza sweden suecia poland polonia "
        "ecuador uruguay"
    ),
    "city": (
        "madrid barcelona berlin paris london londres lisbon lisboa rome roma lima quito bogota "
        "santiago tokyo tokio osaka dublin amsterdam boston austin denver seattle chicago valencia "
        "sevilla malaga bilbao granada vigo oviedo murcia porto oporto leeds manchester"
    ),
    "database": "postgresql mysql mariadb oracle mongodb sqlite redis cockroachdb aurora dynamodb",
    "chat": "slack teams discord mattermost",
    "tracker": "jira trello linear asana",
    "wiki": "notion confluence",
    "ci": "jenkins buildkite circleci travis github-actions gitlab",
    "cloud": "aws azure gcp hetzner ovh heroku",
    "orchestrator": "kubernetes nomad swarm",
    "broker": "kafka rabbitmq nats pulsar",
    "search": "elasticsearch opensearch solr meilisearch",
    "editor": "vim neovim emacs vscode helix zed sublime",
    "protocol": "rest grpc graphql soap",
    "testing": "pytest unittest jest mocha junit vitest",
    "packager": "npm pnpm yarn bun pip poetry uv",
    "framework": "react vue angular svelte elm django flask rails",
    "format": "parquet csv json xml avro yaml toml markdown html pdf",
    "programming": "python java go rust kotlin ruby typescript javascript elixir scala php",
}
ALIASES = {
    "postgres": "postgresql",
    "mongo": "mongodb",
    "k8s": "kubernetes",
    "golang": "go",
    "js": "javascript",
    "ts": "typescript",
    "espanol": "spanish",
    "lisboa": "lisbon",
    "londres": "london",
    "tokio": "tokyo",
    "roma": "rome",
    "oporto": "porto",
    "japon": "japan",
    "espana": "spain",
    "alemania": "germany",
    "francia": "france",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAME_CLASS = {word: name for name, words in NAMES.items() for word in words.split()}
"""Key of a well-known name → what kind of thing it names."""

CLOSED_CLASSES = frozenset({"country", "format", "language"})
"""Classes complete enough that an unlisted name is taken to be of another kind."""

GROUP_KEYS = {
    word: key
    for group in EXCLUSIVE.values()
    for key, words in group.items()
    for word in words.split()
}
CANONICAL = {word: word for word in NAME_CLASS} | GROUP_KEYS | ALIASES
"""Folded word → the key that both languages and all inflections share."""

GROUP_OF = {key: name for name, group in EXCLUSIVE.items() for key in group}
"""Key → the group of values of which only one can hold."""

MULTI_VALUED = _words(
    "like speak know learn play read eat drink support own lead have take fix expose include accept"
)
"""Predicates that hold of many objects at once."""

FUNCTIONAL = {
    "live": ("in", "en", "at"),
    "work": ("at", "for", "en", "as", "of"),
    "report": ("to",),
    "assign": ("to",),
    "write": ("in", "en"),
    "store": ("in", "on", "en"),
    "host": ("in", "on", "at", "en"),
    "deploy": ("in", "on", "to", "en"),
    "run": ("in", "on", "en"),
    "call": ("",),
    "return": ("as",),
    "be": ("in", "at", "on", "en"),
    "belong": ("to",),
    "study": ("at", "in", "en"),
    "sit": ("in", "at", "on", "en"),
    "move": ("to",),
    "base": ("in", "en"),
    "happen": ("in", "at", "en"),
    "attend": ("", "to"),
    "bank": ("with", "at"),
    "keep": ("in", "en"),
}
"""Predicate → the prepositions whose object is single-valued."""

LOOSE_PASSIVES = _words(
    "use know love mention document test relat connect involv interest translat base support "
    "send need cover call made visit includ log sent envi registr prueb integr"
)
"""Participles that take many objects ("is used by"): passives that are not single-valued."""

SCOPES = _words(
    "staging production prod dev test testing local preproduccion produccion desarrollo pruebas "
    "frontend backend mobile web ios android desktop internal external interno externo default "
    "maximum minimum weekend"
)
"""Words that narrow where a statement holds."""

MANY_NOUNS = _words(
    "todo note notes nota pending pendiente task idea hobby hobbies skill interest pet reminder "
    "recordatorio topic tema allergy alergia member friend amigo amiga brother sister hermano "
    "hermana cousin primo prima colleague son daughter uncle aunt tio tia neighbour neighbor "
    "vecino vecina meeting call visit lunch dinner question bug ticket event"
)
"""Subjects of which there may be many: another one says nothing about the first."""

COUNTED = _words("pr ticket sprint step pas chapter capitul epic invoic factur version")
"""Nouns whose number is a name ("PR 118"), not a measure."""

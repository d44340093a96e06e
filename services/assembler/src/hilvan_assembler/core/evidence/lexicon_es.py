"""Spanish words without accents, by what they do. Left: the concept that both languages share."""

COPULAS = "es son soy somos ser esta estan estamos estar sigue siguen"
PLURAL_COPULAS = "son estan"
ARTICLES = "el la los las lo"
IGNORED = (
    "el la los las lo un una unos unas al del este esta estos estas ese esa eso le les se me nos "
    "su sus mi mis nuestro nuestra nuestros nuestras y e o u que tambien solo muy todo todos toda "
    "todas cada mas nada ser estar ha han he equipo proyecto empresa quien cual actual siempre "
    "cierto sigue debe deben puede pueden hay"
)
FRESH = "ahora actualmente desde hoy"
NEGATORS = "no nunca jamas tampoco nadie ninguno ninguna"
PREPOSITIONS = {
    "en": "en sobre dentro",
    "to": "a al hacia",
    "of": "de del",
    "with": "con",
    "for": "para",
    "by": "por",
    "as": "como",
    "until": "hasta",
    "after": "tras despues",
    "before": "antes",
    "under": "bajo menos",
    "during": "durante",
    "between": "entre",
}
VERBS = {
    "live": "vive viven vivo vivimos vivir reside residen",
    "work": "trabaja trabajan trabajo trabajamos trabajar",
    "use": "usa usan usamos utiliza utilizan utilizamos usar utilizar",
    "run": "corre corren ejecuta ejecutan funciona funcionan correr ejecutar funcionar",
    "report": "reporta reportan",
    "have": "tiene tienen tengo tenemos tener",
    "like": "gusta gustan encanta encantan adora",
    "prefer": "prefiere prefieren",
    "want": "quiere quieren necesita necesitan querer",
    "speak": "habla hablan",
    "know": "sabe saben conoce conocen",
    "play": "juega toca",
    "read": "lee leen",
    "write": "escribe escriben escrito escrita escritos escritas",
    "return": "devuelve devuelven",
    "listen": "escucha escuchan",
    "expire": "caduca caducan vence vencen expira expiran",
    "start": "empieza empiezan comienza comienzan",
    "end": "termina terminan acaba acaban",
    "store": "guarda guardan guardamos almacena almacenan guardado guardada guardados guardadas",
    "support": "soporta soportan",
    "require": "requiere requieren",
    "eat": "come comen comer",
    "drink": "bebe beben toma toman beber tomar",
    "lead": "lidera lideran dirige",
    "own": "lleva llevan",
    "belong": "pertenece pertenecen",
    "happen": "celebra celebran ocurre",
    "take": "tarda tardan",
    "include": "incluye incluyen",
    "accept": "acepta aceptan admite admiten",
    "call": "llama llaman",
    "fix": "corrige corrigen",
    "allow": "permite permiten",
    "sit": "sienta",
    "study": "estudia estudian",
    "cost": "cuesta cuestan",
    "learn": "aprende aprenden",
    "host": "aloja alojan alojamos alojado alojada alojados alojadas",
    "assign": "asignado asignada asignados asignadas",
    "deploy": "despliega despliegan desplegado desplegada",
    "exceed": "supera superan superar",
    "expose": "publica publican",
}
FLIPPED_VERBS = {
    "like": "odia odian detesta detestan aborrece disgusta",
    "include": "excluye excluyen omite omiten",
    "accept": "rechaza rechazan",
    "allow": "prohibe prohiben",
}
SLOT_NOUNS = {
    "owner": "dueno duena propietario propietaria",
    "boss": "jefe jefa",
    "lead": "lider responsable",
    "region": "region",
    "license": "licencia",
    "color": "color",
    "branch": "rama",
    "editor": "editor",
    "pronouns": "pronombres",
    "provider": "proveedor proveedora",
    "language": "idioma lenguaje",
    "currency": "moneda",
    "timezone": "huso",
    "email": "correo email",
    "address": "direccion",
    "name": "nombre apodo",
    "domain": "dominio",
    "framework": "framework",
    "director": "director directora",
    "status": "estado",
    "queue": "cola",
    "packager": "gestor",
    "favorite": "favorito favorita",
}
WORDS = {
    "timeout": "timeout",
    "standup": "daily",
    "user": "usuario usuaria usuarios",
    "office": "oficina despacho sede",
    "room": "sala habitacion",
    "floor": "planta piso",
    "port": "puerto",
    "limit": "limite",
    "upload": "subida",
    "main": "principal",
    "maximum": "maximo maxima",
    "minimum": "minimo minima",
    "enabled": "activado activada habilitado habilitada activados activadas encendido encendida",
    "allow": "permitido permitida",
    "mandatory": "obligatorio obligatoria obligatorios obligatorias",
    "allergy": "alergico alergica",
    "coffee": "cafe",
    "tea": "te",
    "peanut": "cacahuete cacahuetes",
    "pollen": "polen",
    "meeting": "reunion reuniones",
    "ticket": "ticket tickets incidencia incidencias tarea",
    "answer": "respuesta respuestas",
    "service": "servicio servicios",
    "release": "entrega entregas lanzamiento",
    "budget": "presupuesto",
    "node": "nodo nodos",
    "team-member": "personas miembros",
    "active": "vigente",
}
FLIPPED_WORDS = {
    "enabled": "desactivado desactivada deshabilitado deshabilitada desactivados desactivadas",
    "allow": "prohibido prohibida",
    "mandatory": "opcional opcionales",
}
PHRASES = {
    "base de datos": "database",
    "dueno de producto": "owner",
    "duena de producto": "owner",
    "scrum master": "lead",
    "github actions": "github-actions",
    "bases de datos": "database",
    "fecha limite": "deadline",
    "tiempo de espera": "timeout",
    "reunion diaria": "standup",
    "en uso": "active",
    "por defecto": "default",
    "ya no": "!ceased",
    "dejo de": "!ceased",
    "dejamos de": "!ceased",
    "dejaron de": "!ceased",
    "no solo": "",
    "no mas de": "limit",
    "no menos de": "minimum",
    "se apago": "!ended",
    "se elimino": "!ended",
    "se retiro": "!ended",
    "se cancelo": "!ended",
    "a menos que": "!open",
    "en caso de": "!open",
    "tal vez": "!open",
    "va a": "!open",
    "van a": "!open",
    "vamos a": "!open",
    "quiere pasar": "!open",
    "la semana pasada": "!past",
    "el mes pasado": "!past",
    "el ano pasado": "!past",
    "ha estado": "!past",
    "a partir de": "!fresh",
    "decidio": "!fresh",
    "decidimos": "!fresh",
    "acordamos": "!fresh",
}
# As written: "si" is a condition, "sí" is not.
OPEN_WORDS = (
    "si cuando quiza quizá quizas quizás podria podría podriamos podríamos valorando "
    "pensando planea planeamos planean proponemos propone sugiere probablemente considerando salvo"
)
QUESTION_STARTS = "que cual cuales quien donde cuando como"
PAST_WORDS = (
    "fue fueron era eran hizo dio tuvo estuvo dijo puso vino vivia trabajaba usaba usabamos tenia "
    "estaba estaban habia llame hable compre ayer hace revise reuni reunimos fui comi"
)
MOVED = (  # With their accents: "paso" and "cambio" are nouns.
    "mudó movió movimos mudamos pasó pasamos pasaron migró migramos migraron cambió cambiamos "
    "trasladó trasladamos movieron mudaron aplazó"
)
REPLACED = "sustituimos sustituyó reemplazamos reemplazó"
LEFT = "dejó abandonó"
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
WEEKDAYS = "lunes martes miercoles jueves viernes sabado domingo"
NUMBERS = "_ dos tres cuatro cinco seis siete ocho nueve diez once doce"
ORDINALS = (
    "primero segundo tercero cuarto quinto sexto septimo octavo noveno decimo",
    "primera segunda tercera cuarta quinta sexta septima octava novena decima",
    "primer _ tercer",
)
PAST_ENDINGS = ("ó", "aron", "ieron")
AMBIGUOUS_ENDINGS: tuple[str, ...] = ("amos", "imos")
PARTICIPLE_ENDINGS = ("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas", "ando", "iendo")
PARTICIPLES = "escrito escrita escritos escritas hecho hecha"

"""Spanish words without accents, by what they do. Left: the concept that both languages share."""

from hilvan_assembler.core.evidence.conjugation import first_person, presents, preterites


def _past(infinitives: str) -> str:
    return " ".join(" ".join(preterites(verb)) for verb in infinitives.split())


COPULAS = "es son soy somos ser esta estan estamos estar sigue siguen"
PLURAL_COPULAS = "son estan"
ARTICLES = "el la los las lo"
IGNORED = (
    "el la los las lo un una unos unas al del este esta estos estas ese esa eso le les se me nos "
    "su sus mi mis nuestro nuestra nuestros nuestras y e o u que tambien solo muy todo todos toda "
    "todas cada mas nada ser estar ha han he equipo proyecto empresa quien cual actual siempre "
    "cierto sigue debe deben puede pueden puedes hay he yo ella ellos ellas otro otra te nos"
)
PRONOUNS = "el ella ellos ellas"
FIRST_PERSON = "yo mi mis"
POSSESSIVES = "mi mis su sus nuestro nuestra tu tus"
TITLES = "dr dra doctor doctora sr sra don dona senor senora"
CONJUNCTIONS = "y e asi"
COMPARED = "to above"
BEFORE_VERBS = ""
BASES = ""
AUXILIARIES = ""
NOUNS = "trabajo uso toma publica gasto registro cobro visita compra pago peso mando"
FRESH = "ya ahora actualmente desde hoy"
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
_IRREGULAR = {
    "live": "vive viven vivo vivimos vivir reside residen",
    "work": "trabaja trabajan trabajo trabajamos trabajar",
    "use": "usa usan usamos utiliza utilizan utilizamos usar utilizar",
    "run": "corre corren ejecuta ejecutan funciona funcionan correr ejecutar funcionar",
    "report": "reporta reportan",
    "have": "tiene tienen tengo tenemos tener",
    "like": "gusta gustan encanta encantan adora",
    "want": "quiere quieren quiero queremos necesita necesitan querer",
    "speak": "habla hablan",
    "know": "sabe saben conoce conocen",
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
    "exceed": "supera superan superar",
    "expose": "publica publican",
    "go": "va van voy vamos ir",
    "prefer": "prefiere prefieren prefiero preferimos",
    "drive": "conduce conducen conduzco",
    "sleep": "duerme duermen duermo",
    "follow": "sigue siguen sigo",
    "close": "cierra cierran cierro",
    "order": "pide piden pido",
    "play": "juega toca juego toco juegan tocan",
    "travel": "viaja vuela vuelan",
    "subscribe": "suscrito suscrita suscritos",
    "send": "reparte envia enviado enviada",
    "leave": "sale salen salgo",
    "deploy": "despliega despliegan desplegado desplegada desplegamos",
}
_REGULAR = {
    "attend": "asistir",
    "drive": "manejar",
    "pay": "pagar",
    "rent": "alquilar",
    "send": "enviar mandar repartir",
    "track": "registrar",
    "weigh": "pesar",
    "travel": "viajar volar",
    "walk": "caminar andar",
    "save": "ahorrar",
    "earn": "ganar cobrar",
    "spend": "gastar",
    "handle": "gestionar atender",
    "cover": "cubrir",
    "teach": "ensenar",
    "cook": "cocinar",
    "visit": "visitar",
    "arrive": "llegar aterrizar",
    "leave": "salir",
    "close": "cerrar",
    "open": "abrir",
    "answer": "responder contestar",
    "review": "revisar",
    "approve": "aprobar",
    "smoke": "fumar",
    "work": "trabajar",
    "use": "usar utilizar",
    "live": "vivir",
    "eat": "comer",
    "drink": "beber tomar",
    "study": "estudiar",
    "learn": "aprender",
    "write": "escribir",
    "read": "leer",
    "store": "guardar almacenar",
    "deploy": "desplegar",
    "host": "alojar",
    "speak": "hablar",
    "need": "necesitar",
    "swim": "nadar",
    "run": "correr",
    "buy": "comprar",
    "order": "pedir",
    "play": "jugar tocar",
    "publish": "publicar",
}
"""Concept → regular verbs, of which the present is made by rule."""

FIRST_FORMS = (
    "soy estoy voy tengo prefiero quiero conduzco pido sigo cierro duermo vengo hago salgo juego "
    "pienso conozco deje di deshice "
    + " ".join(first_person(verb) for verbs in _REGULAR.values() for verb in verbs.split())
)
"""Verbs that say by themselves that the speaker is the subject."""

VERBS = {
    concept: " ".join(form for verb in verbs.split() for form in presents(verb))
    for concept, verbs in _REGULAR.items()
}
for _concept, _words in _IRREGULAR.items():
    VERBS[_concept] = f"{VERBS.get(_concept, '')} {_words}"

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
    "user": "usuario usuaria",
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
    "flight": "vuelo vuelos",
    "birthday": "cumpleanos",
    "dose": "dosis",
    "pill": "pastilla pastillas",
    "milk": "leche",
    "meat": "carne",
    "fish": "pescado",
    "shellfish": "marisco mariscos",
    "penicillin": "penicilina",
    "wheat": "trigo",
    "dog": "perro perros perra",
    "cat": "gato gatos gata",
    "car": "coche coches carro auto",
    "phone": "telefono movil celular",
    "laptop": "portatil",
    "rent": "alquiler",
    "price": "precio cuota",
    "daughter": "hija",
    "son": "hijo",
    "mother": "madre mama",
    "father": "padre papa",
    "wife": "esposa mujer",
    "husband": "marido esposo",
    "school": "colegio escuela instituto",
    "hotel": "hotel",
    "invoice": "factura facturas",
    "customer": "cliente clientes clienta",
    "home": "casa apartamento residencia",
    "call": "llamada llamen llame",
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
    "en vez de": "!instead",
    "en lugar de": "!instead",
    "antes que": "!instead",
    "y no": "!contrast",
    "sino": "!rather",
    "no soporta": "-=like",
    "no soporto": "-=like",
    "dio de baja de": "!given",
    "di de baja de": "!given",
    "dio de baja del": "!given",
    "di de baja del": "!given",
    "se deshizo de": "!given",
    "me deshice de": "!given",
    "deje de": "!ceased",
    "fin de semana": "weekend",
    "fines de semana": "weekend",
    "entre semana": "weekday",
    "caja fuerte": "safe",
    "se caso": "married",
    "anoche": "!past",
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
    "si quiza quizá quizas quizás podria podría podriamos podríamos valorando "
    "pensando planea planeamos planean proponemos propone sugiere probablemente considerando salvo"
)
CONDITIONS = "cuando mientras"
QUESTION_STARTS = "que qué cual cuál cuales cuáles quien quién donde dónde cuando cuándo cómo"
PAST_WORDS = (
    "fue fueron era eran hizo dio tuvo estuvo dijo puso vino vivia trabajaba usaba usabamos tenia "
    "estaba estaban habia llame hable compre ayer hace revise reuni reunimos fui comi"
)
MOVED = (  # With their accents: "paso" and "cambio" are nouns.
    _past("mudar pasar migrar cambiar trasladar aplazar subir bajar adelantar retrasar aumentar")
    + " reescribió reescribimos movió movimos movieron moví redujo amplió"
)
REPLACED = _past("reemplazar") + " sustituimos sustituyó sustituyeron"
LEFT = _past("dejar abandonar")
GIVEN = _past("vender cancelar cerrar borrar")
CHANGED_PARTICIPLES = {
    "moved": "mudado pasado migrado cambiado trasladado subido bajado aplazado",
    "replaced": "sustituido reemplazado",
    "given": "vendido cancelado",
}
"""Behind "ha", "fue" or "sido" these tell a change."""
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

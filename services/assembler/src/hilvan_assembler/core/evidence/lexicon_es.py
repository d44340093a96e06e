"""Spanish words without accents, by what they do. Left: the concept that both languages share."""

COPULAS = "es son soy somos ser esta estan estamos estar sigue siguen"
PLURAL_COPULAS = "son estan"
ARTICLES = "el la los las lo"
IGNORED = (
    "el la los las lo un una unos unas al del este esta estos estas ese esa eso le les se me nos "
    "su sus mi mis nuestro nuestra nuestros nuestras y e o u que tambien solo muy todo todos toda "
    "todas cada mas nada ser estar ha han he equipo proyecto empresa quien cual actual siempre "
    "cierto sigue debe deben puede pueden puedes hay he yo ella ellos ellas otro otra te nos"
)
PRONOUNS = ""
FIRST_PERSON = "yo mi mis"
POSSESSIVES = "mi mis su sus nuestro nuestra tu tus"
TITLES = "dr dra doctor doctora sr sra don dona senor senora"
CONJUNCTIONS = "y e asi"
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
    "por un": "!cause",
    "por una": "!cause",
    "por culpa de": "!reason",
    "debido a": "!reason",
    "gracias a": "!reason",
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
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
WEEKDAYS = "lunes martes miercoles jueves viernes sabado domingo"
NUMBERS = "_ dos tres cuatro cinco seis siete ocho nueve diez once doce"
ORDINALS = (
    "primero segundo tercero cuarto quinto sexto septimo octavo noveno decimo",
    "primera segunda tercera cuarta quinta sexta septima octava novena decima",
    "primer _ tercer",
)

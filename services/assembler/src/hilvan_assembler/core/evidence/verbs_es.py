"""Spanish verbs without accents, as `lexicon_es`; only forms of the past keep them."""

from hilvan_assembler.core.evidence.conjugation import first_person, presents, preterites


def _past(infinitives: str) -> str:
    return " ".join(" ".join(preterites(verb)) for verb in infinitives.split())


BEFORE_VERBS = ""
BASES = ""
AUXILIARIES = ""
NOUNS = "trabajo uso toma publica gasto registro cobro visita compra pago peso mando"
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
    "handle": "atiende atienden atiendo",
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
PAST_WORDS = (
    "fue fueron era eran hizo dio tuvo estuvo dijo puso vino vivia trabajaba usaba usabamos tenia "
    "estaba estaban habia llame hable compre ayer hace revise reuni reunimos fui comi"
)
MOVED = (  # With their accents: "paso" and "cambio" are nouns.
    _past("mudar pasar migrar trasladar aplazar subir bajar adelantar retrasar aumentar")
    + " reescribió reescribimos movió movimos movieron moví redujo amplió"
)
CHANGED = _past("cambiar renombrar")
REPLACED = _past("reemplazar") + " sustituimos sustituyó sustituyeron"
LEFT = _past("dejar abandonar")
GIVEN = _past("vender cancelar cerrar borrar")
CHANGED_PARTICIPLES = {
    "moved": "mudado pasado migrado trasladado subido bajado aplazado",
    "changed": "cambiado renombrado",
    "replaced": "sustituido reemplazado",
    "given": "vendido cancelado",
}
"""Behind "ha", "fue" or "sido" these tell a change."""
PAST_ENDINGS = ("ó", "aron", "ieron")
AMBIGUOUS_ENDINGS: tuple[str, ...] = ("amos", "imos")
PARTICIPLE_ENDINGS = ("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas", "ando", "iendo")
PARTICIPLES = "escrito escrita escritos escritas hecho hecha"

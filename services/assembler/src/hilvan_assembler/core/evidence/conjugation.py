"""Forms of regular Spanish verbs, as far as short statements use them."""

_PRESENT = {"ar": ("a", "an", "amos"), "er": ("e", "en", "emos"), "ir": ("e", "en", "imos")}
_PRETERITE = {
    "ar": ("é", "ó", "amos", "aron"),
    "er": ("í", "ió", "imos", "ieron"),
    "ir": ("í", "ió", "imos", "ieron"),
}
_BEFORE_E = {"c": "qu", "g": "gu", "z": "c"}
"""Last letters that are spelled in another way before "é": "saqué", "pagué", "aplacé"."""


def first_person(infinitive: str) -> str:
    """The first person of the present: ``usar`` → ``uso``."""
    return infinitive[:-2] + "o"


def presents(infinitive: str) -> tuple[str, ...]:
    """The present from the first person on, and the infinitive itself."""
    root, ending = infinitive[:-2], infinitive[-2:]
    rest = (root + each for each in _PRESENT[ending])
    return (first_person(infinitive), *rest, infinitive)


def preterites(infinitive: str) -> tuple[str, ...]:
    """The simple past with its accents: ``mudar`` → ``mudé mudó mudamos mudaron``."""
    root, ending = infinitive[:-2], infinitive[-2:]
    first, *rest = _PRETERITE[ending]
    spelled = root[:-1] + _BEFORE_E.get(root[-1], root[-1]) if first == "é" else root
    return (spelled + first, *(root + each for each in rest))

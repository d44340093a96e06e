"""When two statements are the same words: differences of typing don't count, all others do."""

import re
import unicodedata

# Accents of Latin letters; the tilde of ñ makes another letter, and so do marks of other scripts.
_ACCENT = re.compile(
    r"(?<=[a-mo-z])[\u0300-\u036f]+"
    r"|(?<=n)[\u0300-\u0302\u0304-\u036f]+"
)
# A word or number, with the signs that tell it from another one: -5 from 5, 1.5 from 15, 5% from 5,
# C++ and C# from C. Or any other sign, such as €, < or an emoji.
_TOKEN = re.compile(
    r"(?:(?<!\w)[-+](?=\d))?"
    r"\w(?:[\w\u0300-\u036f]|(?<=\d)[.,:/-](?=\d))*"
    r"(?:\+\+|\#|[%‰])?"
    r"|[^\w\s]"
)


def same_words(left: str, right: str) -> bool:
    """Whether two texts have the same words in the same order.

    Case, accents, punctuation and spacing don't count. Every letter, digit, sign and currency
    does: ``9`` is not ``10``, ``-5`` not ``5``, ``1.5`` not ``15``, ``año`` not ``ano``, ``C++``
    not ``C``. Two texts without any word are never the same.
    """
    said = words(left)
    return bool(said) and said == words(right)


def words(text: str) -> list[str]:
    """The words of a text as `same_words` compares them, in their order."""
    decomposed = _ACCENT.sub("", unicodedata.normalize("NFD", text.casefold()))
    plain = unicodedata.normalize("NFC", decomposed)
    return [token for token in _TOKEN.findall(plain) if not _is_punctuation(token)]


def _is_punctuation(token: str) -> bool:
    return len(token) == 1 and unicodedata.category(token).startswith("P")

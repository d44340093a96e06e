"""Numbers, times and dates, brought to one unit so that "60 seconds" equals "1 minute"."""

import re
from collections.abc import Sequence

from hilvan_assembler.core.evidence import lexicon_en, lexicon_es
from hilvan_assembler.core.evidence.model import Value
from hilvan_assembler.core.evidence.words import Word

_WRITTEN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}$|\d{1,2}/\d{1,2}/\d{4}$")
_NUMBER = re.compile(r"([$€£]?)(\d+(?:[.,]\d+)*)([%€$£]?)$")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+$")
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)$")
_FIRST_YEAR, _LAST_YEAR, _LAST_DAY, _MONTHS, _NOON = 1900, 2100, 31, 12, 12


_QUARTERS = frozenset({"q1", "q2", "q3", "q4"})


def _scale(table: dict[str, tuple[str, float]]) -> dict[str, tuple[str, float]]:
    return {word: scale for words, scale in table.items() for word in words.split()}


_SCALES = _scale(
    {
        "ms millisecond milliseconds milisegundo milisegundos": ("s", 0.001),
        "s sec second seconds segundo segundos": ("s", 1),
        "min minute minutes minuto minutos": ("s", 60),
        "h hour hours hora horas": ("s", 3600),
        "day days dia dias": ("s", 86_400),
        "week weeks semana semanas": ("s", 604_800),
        "month months mes meses": ("month", 1),
        "year years ano anos": ("month", 12),
        "kb kib": ("byte", 1e3),
        "mb mib": ("byte", 1e6),
        "gb gib": ("byte", 1e9),
        "tb tib": ("byte", 1e12),
        "euro euros eur": ("€", 1),
        "dollar dollars dolar dolares usd": ("$", 1),
        "percent": ("%", 1),
    }
)
_ONLY_WITH_DAY = {"may", "march", *lexicon_en.SHORT_MONTHS.split()}
"""Words of their own, or short forms: months only where a number stands beside them."""


def _numbered(*lists: str, start: int = 1) -> dict[str, int]:
    """Words by their place in any of the lists."""
    return {word: place for words in lists for place, word in enumerate(words.split(), start)}


_MONTH = _numbered(lexicon_en.MONTHS, lexicon_es.MONTHS, lexicon_en.SHORT_MONTHS)
_DAYS = _numbered(lexicon_en.WEEKDAYS, lexicon_es.WEEKDAYS, start=0)
_WEEKDAY = _DAYS | {name + "s": day for name, day in _DAYS.items()}
_CARDINALS = {False: _numbered(lexicon_en.NUMBERS), True: _numbered(lexicon_es.NUMBERS)}
_ORDINALS = {False: _numbered(*lexicon_en.ORDINALS), True: _numbered(*lexicon_es.ORDINALS)}
_CLOCK_WORDS = {"noon": 720, "midday": 720, "mediodia": 720, "midnight": 0, "medianoche": 0}
SPELLED = frozenset().union(
    _CLOCK_WORDS, _MONTH, _WEEKDAY, _QUARTERS, *_CARDINALS.values(), *_ORDINALS.values()
)


def read_value(words: Sequence[Word], at: int, *, spanish: bool) -> tuple[Value, int] | None:
    """The value that starts at a word, and how many words it takes; None when there is none."""
    text = words[at].fold
    if text[0].isalpha() and text not in SPELLED and not _VERSION.match(text):
        return None
    return (
        _date(words, at)
        or _clock(words, at)
        or _calendar(words[at])
        or _measure(words, at)
        or _spelled(words, at, spanish=spanish)
    )


def is_day(word: Word) -> bool:
    """Whether a word names a day of the week, or is the number of a day."""
    return word.fold in _WEEKDAY or _day(word.fold) is not None


def _calendar(word: Word) -> tuple[Value, int] | None:
    """A day of the week or a quarter of the year ("Q3")."""
    if word.fold in _WEEKDAY:
        return Value("weekday", "", (_WEEKDAY[word.fold],)), 1
    if word.fold in _QUARTERS:
        return Value("quarter", "", (int(word.fold[1]),)), 1
    return None


def _date(words: Sequence[Word], at: int) -> tuple[Value, int] | None:
    """ISO and slashed dates, "14 de marzo de 2025", "March 14, 2025", "June"."""
    text = words[at].fold
    if _WRITTEN_DATE.match(text):
        return _written_date(text), 1
    if text in _MONTH:
        return _month_first(words, at)
    day = _day(text)
    if day is None:
        return None
    here = at + 1
    while here < len(words) and words[here].fold in {"of", "de", "th", "st", "nd", "rd"}:
        here += 1
    if here >= len(words) or words[here].fold not in _MONTH:
        return None
    month = _MONTH[words[here].fold]
    year, taken = _year(words, here + 1)
    return Value("date", "", (year, month, day)), here + taken - at + 1


def _month_first(words: Sequence[Word], at: int) -> tuple[Value, int] | None:
    name = words[at].fold
    day = _day(words[at + 1].fold) if at + 1 < len(words) else None
    if day is None and name in _ONLY_WITH_DAY:
        return None
    here = at + 1 if day is None else at + 2
    year, taken = _year(words, here)
    return Value("date", "", (year, _MONTH[name], day)), here + taken - at


def _written_date(text: str) -> Value:
    first, second, third = (int(part) for part in re.split(r"[-/]", text))
    year, month, day = (first, second, third) if "-" in text else (third, second, first)
    if month > _MONTHS:
        month, day = day, month
    return Value("date", "", (year, month, day))


def _day(text: str) -> int | None:
    short = text.isdecimal() and len(text) <= len("31")
    return int(text) if short and 1 <= int(text) <= _LAST_DAY else None


def _year(words: Sequence[Word], at: int) -> tuple[int | None, int]:
    """A year, perhaps after "de" or "of", and how many words it takes."""
    skip = 1 if at < len(words) and words[at].fold in {"de", "of"} else 0
    text = words[at + skip].fold if at + skip < len(words) else ""
    if text.isdecimal() and len(text) == len("2025") and _FIRST_YEAR <= int(text) <= _LAST_YEAR:
        return int(text), skip + 1
    return None, 0


def _clock(words: Sequence[Word], at: int) -> tuple[Value, int] | None:
    """Minutes since midnight of "16:00", "4:30 pm", "4pm"."""
    if words[at].fold in _CLOCK_WORDS:
        return Value("time", "", (_CLOCK_WORDS[words[at].fold],)), 1
    hour, colon, minute = words[at].fold.partition(":")
    half = words[at + 1].fold if at + 1 < len(words) else ""
    meridiem = half in {"am", "pm", "a.m", "p.m"}
    if not hour.isdecimal() or not (colon or meridiem) or len(hour) > len("23"):
        return None
    hours = int(hour) % _NOON + (_NOON if half[0] == "p" else 0) if meridiem else int(hour)
    minutes = hours * 60 + int(minute or 0)
    return Value("time", "", (minutes,)), 2 if meridiem else 1


def _measure(words: Sequence[Word], at: int) -> tuple[Value, int] | None:
    """A number in digits with its unit; a bare one keeps its dotted parts, as versions need."""
    text = words[at].fold
    if version := _VERSION.match(text):
        return Value("number", "version", _dotted(version[1])), 1
    match = _NUMBER.match(text)
    if match is None:
        return None
    digits = match[2]
    if _THOUSANDS.match(digits):
        digits = digits.replace(".", "").replace(",", "")
    if symbol := match[1] or match[3]:
        return Value("number", symbol, (_decimal(digits),)), 1
    scale = _SCALES.get(words[at + 1].fold) if at + 1 < len(words) else None
    if scale:
        return Value("number", scale[0], (round(_decimal(digits) * scale[1], 6),)), 2
    return Value("number", "", _dotted(digits)), 1


def _decimal(digits: str) -> float:
    whole, _, rest = digits.replace(",", ".").partition(".")
    return float(f"{whole}.{rest.replace('.', '')}0")


def _dotted(digits: str) -> tuple[float, ...]:
    return tuple(int(part) for part in digits.replace(",", ".").split("."))


def _spelled(words: Sequence[Word], at: int, *, spanish: bool) -> tuple[Value, int] | None:
    """Numbers and ordinals in words."""
    word = words[at].fold
    if number := _CARDINALS[spanish].get(word):
        scale = _SCALES.get(words[at + 1].fold) if at + 1 < len(words) else None
        if scale:
            return Value("number", scale[0], (round(number * scale[1], 6),)), 2
        return Value("number", "", (number,)), 1
    if word in _ORDINALS[spanish] and not (at and words[at - 1].fold in {"per", "por"}):
        return Value("number", "ordinal", (_ORDINALS[spanish][word],)), 1
    return None

"""The conflict judge: explainable evidence, each text read once."""

from functools import lru_cache

from hilvan_assembler.core.evidence import judge, read
from hilvan_assembler.model.contradiction import Contradiction

_CACHED_TEXTS = 20_000
"""Reading a text costs ten times what judging a pair does (docs/decisions)."""

_read = lru_cache(maxsize=_CACHED_TEXTS)(read)


def evidence_judge(older: str, newer: str) -> Contradiction | None:
    """See `hilvan_assembler.ports.ContradictionJudge`."""
    return judge(_read(older), _read(newer))

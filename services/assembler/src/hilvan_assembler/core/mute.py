"""Whether it is known what is muted. What nobody can vouch for is not shown.

Curation says what is muted now. Without it there are retrieval's mutes, which are as good as
curation's last word on them is young.
"""

from collections.abc import Iterable
from dataclasses import replace

from hilvan_assembler.model.candidate import Retrieved
from hilvan_assembler.model.curation import Curated
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.kind import PartStatus

RELIABLE_SECONDS = 30.0
"""How long retrieval's mutes are relied on. Curation confirms them every 10 s, so two words may
get lost."""


def are_reliable(age_seconds: float | None) -> bool:
    """Whether retrieval's mutes are young enough; None: they were never confirmed."""
    return age_seconds is not None and age_seconds <= RELIABLE_SECONDS


def vouched(
    curated: Curated,
    owners: Iterable[str],
    age_seconds: float | None,
    *,
    accept_stale: bool,
) -> Curated:
    """What curation said, with whose mutes are known.

    ``owners`` are those of whom curation just spoke: none when it did not answer.
    """
    everybody = accept_stale or are_reliable(age_seconds)
    return replace(curated, vouched_for=None if everybody else frozenset(owners))


def missing(curated: Curated, retrieved: Retrieved) -> tuple[Degradation, ...]:
    """What an answer says when candidates are left out because nobody knows if they are muted."""
    known = curated.vouched_for
    if known is None or all(each.owner in known for each in retrieved.candidates):
        return ()
    return (Degradation("mutes", PartStatus.UNAVAILABLE),)

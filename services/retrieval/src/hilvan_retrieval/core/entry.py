"""What a write does to the record: pure decisions on the entries as they are.

Each function takes the current entries by id (with everything that they are superseded by) and
tells the `Change`; the store runs it inside one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hilvan_retrieval.core.words import same_words
from hilvan_retrieval.errors import Conflict, InvalidInput, NotFound, Violation
from hilvan_retrieval.model.embedding import Vector
from hilvan_retrieval.model.entry import Answer, Change, Entry

Decide = Callable[[Mapping[str, Entry]], Change]
"""A decision inside the store's transaction: pure, and possibly called again."""

ImportFaults = dict[int, tuple[Violation, ...]]
"""What is wrong with records of a batch, by their index in it."""

REINFORCED_AT = 0.92
"""Calibrated similarity from which a statement is the same as one that is stored (spec 3)."""

REINFORCEMENT_GAIN = 0.2
"""Share of the remaining doubt that one more statement of the same takes away."""

STORED = "stored"
REINFORCED = "reinforced"

_CONTENT = ("title", "text", "topics", "outcome", "steps", "category")


@dataclass(frozen=True, slots=True)
class Nearest:
    """A stored entry, as it was read, with its calibrated similarity to a new statement."""

    entry: Entry
    similarity: float


def upsert(entry: Entry, current: Mapping[str, Entry]) -> Change:
    """Create the entry or replace the one with its id."""
    _same_place(entry, current.get(entry.id))
    put = linked(entry, current, "entry.superseded_by")
    return Change(Answer(STORED, put), puts=(put, *relinked({put.id: put}, current)))


def update(
    entry_id: str,
    values: Mapping[str, object],
    etag: str,
    now: datetime,
    current: Mapping[str, Entry],
) -> Change:
    """Change fields of an entry.

    Raises NotFound, Conflict when the etag is not current, or InvalidInput when the interval of
    validity would be empty.
    """
    old = _existing(entry_id, etag, current)
    new = replace(old, **values)  # type: ignore[arg-type]  # the caller checked names and types
    if new.valid_from and new.valid_until and new.valid_from >= new.valid_until:
        raise InvalidInput([Violation("entry.valid_until_time", "must be after valid_from_time")])
    if any(getattr(new, name) != getattr(old, name) for name in _CONTENT):
        new = replace(new, update_time=now)
    return Change(Answer(STORED, new), puts=(new, *relinked({new.id: new}, current)))


def remove(entry_id: str, etag: str, current: Mapping[str, Entry]) -> Change:
    """Forget an entry. Raises NotFound, or Conflict when the etag is not current."""
    _existing(entry_id, etag, current)
    return Change(Answer("deleted"), deletes=(entry_id,))


def supersede(entry_id: str, superseded_by: str, etag: str, current: Mapping[str, Entry]) -> Change:
    """State that one entry replaces another. Raises NotFound for either, or Conflict."""
    old = _existing(entry_id, etag, current)
    if superseded_by not in current:
        raise NotFound(superseded_by)
    new = linked(replace(old, superseded_by=superseded_by), current, "superseded_by")
    return Change(Answer(STORED, new), puts=(new,))


def nearest(entry: Entry, similar: Sequence[tuple[Entry, float]]) -> Nearest | None:
    """The stored statement that is most like the entry; ties go to the greater id.

    ``similar`` are entries with their calibrated similarity to it. The same words are the same
    statement whatever the model says: some put trivial variants of spelling below 0.92.
    """
    text = entry.searchable_text
    ranked = [
        (1.0 if same_words(text, each.searchable_text) else similarity, each.id, each)
        for each, similarity in similar
    ]
    if not ranked:
        return None
    similarity, _, closest = max(ranked, key=lambda each: each[:2])
    return Nearest(closest, similarity)


def remember(
    entry: Entry,
    similar: Nearest | None,
    now: datetime,
    current: Mapping[str, Entry],
    vector: Vector,
) -> Change:
    """Store the statement, or reinforce the entry that already says it.

    ``similar`` is a live entry of the same owner and layer, see `nearest`; it counts only while
    the record still has it so. Reinforcing touches counters, confidence and the update time,
    nothing that an index keeps.
    """
    _same_place(entry, current.get(entry.id))
    known = _still(similar, current)
    similarity = None if similar is None else similar.similarity
    if known is None:
        put = linked(entry, current, "entry.superseded_by")
        written = (put, *relinked({put.id: put}, current))
        return Change(Answer(STORED, put, similarity), puts=written, vectors={put.id: vector})
    put = reinforced(known, now)
    return Change(Answer(REINFORCED, put, similarity), puts=(put,), quiet=True)


def reinforced(entry: Entry, now: datetime) -> Entry:
    """The entry after it was stated once more."""
    doubt = 1.0 - (0.5 if entry.confidence is None else entry.confidence)
    return replace(
        entry,
        reinforcement_count=entry.reinforcement_count + 1,
        confidence=1.0 - doubt * (1.0 - REINFORCEMENT_GAIN),
        update_time=max(now, entry.update_time),
    )


def import_batch(
    records: Mapping[int, Entry], vectors: Mapping[int, Vector], current: Mapping[str, Entry]
) -> tuple[Change, ImportFaults]:
    """Take in the records that are not there just so; tell those that can't be.

    Records and their vectors are given by index in the batch. A record that the store has with
    the same content counts as unchanged, so that sending a batch again changes nothing; what the
    store counted since (accesses, reinforcements, supersession) is kept. The answer's outcome is
    the number of records that were stored.
    """
    seen = dict(current)
    made: dict[str, Vector] = {}
    faults: ImportFaults = {}
    for index, record in records.items():
        old = seen.get(record.id)
        try:
            _same_place(record, old)
            seen[record.id] = linked(_with_counters(record, old), seen, "entry.superseded_by")
        except InvalidInput as error:
            faults[index] = error.violations
            continue
        if index in vectors:
            made[record.id] = vectors[index]
        else:
            made.pop(record.id, None)
    # Links may point forward: only now is it known from when each replacement counts.
    dated = {each.id: _dated(each, seen) for each in seen.values()}
    written = tuple(each for each in dated.values() if each != current.get(each.id))
    stored = {each.id for each in written} & {each.id for each in records.values()}
    kept = {name: vector for name, vector in made.items() if name in stored}
    return Change(Answer(str(len(stored))), puts=written, vectors=kept), faults


def linked(entry: Entry, current: Mapping[str, Entry], field: str) -> Entry:
    """The entry with its supersession checked and dated.

    The link counts from when the replacement holds, or was first stated. A link to an entry
    that is not known (yet) counts from the entry's own last statement. Raises InvalidInput for a
    link to itself, to another owner's entry, or one that would close a loop: of a loop, every
    side would be lost.
    """
    target = current.get(entry.superseded_by)
    if target is not None and target.owner != entry.owner:
        raise InvalidInput([Violation(field, "must be an entry of the same owner")])
    hop = entry.superseded_by
    visited: set[str] = set()
    while hop and hop not in visited:
        if hop == entry.id:
            raise InvalidInput([Violation(field, "must not lead back to the entry itself")])
        visited.add(hop)
        hop = current[hop].superseded_by if hop in current else ""
    return _dated(entry, current)


def relinked(puts: Mapping[str, Entry], current: Mapping[str, Entry]) -> list[Entry]:
    """Entries whose replacement has only now come, or come otherwise: their link is dated anew.

    So it does not matter in which order the two sides of a link are written.
    """
    others = [each for each in current.values() if each.id not in puts]
    return [dated for each in others for dated in [_dated(each, puts)] if dated != each]


def _dated(entry: Entry, known: Mapping[str, Entry]) -> Entry:
    """The entry with the time of its link, by its replacement if that is among the known."""
    if not entry.superseded_by:
        time = None
    elif (target := known.get(entry.superseded_by)) and target.owner == entry.owner:
        time = _link_time(target)
    else:
        time = entry.supersede_time or entry.update_time
    return replace(entry, supersede_time=time)


def _link_time(replacement: Entry) -> datetime:
    return replacement.valid_from or replacement.create_time


def _existing(entry_id: str, etag: str, current: Mapping[str, Entry]) -> Entry:
    entry = current.get(entry_id)
    if entry is None:
        raise NotFound(entry_id)
    if etag and etag != str(entry.version):
        raise Conflict(entry_id, str(entry.version))
    return entry


def _same_place(entry: Entry, old: Entry | None) -> None:
    if old is None:
        return
    faults = [
        Violation(f"entry.{name}", "can't change")
        for name in ("layer", "owner")
        if getattr(old, name) != getattr(entry, name)
    ]
    if faults:
        raise InvalidInput(faults)


def _with_counters(new: Entry, old: Entry | None) -> Entry:
    """A record of an import with what the store has counted of it since."""
    if old is None:
        return new
    accesses = [time for time in (new.last_access_time, old.last_access_time) if time]
    if old.reinforcement_count > new.reinforcement_count:
        new = replace(
            new,
            reinforcement_count=old.reinforcement_count,
            confidence=old.confidence,
            update_time=max(new.update_time, old.update_time),
        )
    if old.decay_time is not None and new.update_time <= old.update_time:
        # Nobody has confirmed it since its confidence was lowered.
        new = replace(new, confidence=old.confidence, decay_time=old.decay_time)
    if new.superseded_by in ("", old.superseded_by):
        new = replace(new, superseded_by=old.superseded_by, supersede_time=old.supersede_time)
    return replace(
        new,
        access_count=max(new.access_count, old.access_count),
        last_access_time=max(accesses, default=None),
        version=old.version,
    )


def _still(similar: Nearest | None, current: Mapping[str, Entry]) -> Entry | None:
    """The entry that already says it, unless it was changed or retired since it was read."""
    if similar is None or similar.similarity < REINFORCED_AT:
        return None
    known = current.get(similar.entry.id)
    if known is None or known.searchable_text != similar.entry.searchable_text:
        return None
    return known if known.live_until_ms == similar.entry.live_until_ms else None

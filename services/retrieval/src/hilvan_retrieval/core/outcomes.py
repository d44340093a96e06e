"""What a write does to the record: pure decisions on the entries as they are.

Each function takes the current entries by id (with everything that they are superseded by) and
tells the `Change`; the store runs it inside one transaction.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from hilvan_retrieval.errors import Conflict, InvalidInput, NotFound, Violation
from hilvan_retrieval.model import Answer, Change, Entry, Vector

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
UNCHANGED = "unchanged"

_CONTENT = ("title", "text", "topics", "outcome", "steps", "category")


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
    """Change fields of an entry. Raises NotFound, or Conflict when the etag is not current."""
    old = _existing(entry_id, etag, current)
    new = replace(old, **values)  # type: ignore[arg-type]  # the caller checked names and types
    if any(getattr(new, name) != getattr(old, name) for name in _CONTENT):
        new = replace(new, update_time=now)
    return Change(Answer(STORED, new), puts=(new,))


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


def remember(
    entry: Entry,
    nearest: tuple[str, float] | None,
    now: datetime,
    current: Mapping[str, Entry],
    vector: Vector,
) -> Change:
    """Store the statement, or reinforce the entry that already says it.

    ``nearest`` is the most similar live entry of the same owner and layer, with the calibrated
    similarity. Reinforcing touches counters, confidence and the update time, nothing that an
    index keeps.
    """
    similarity = None if nearest is None else nearest[1]
    known = current.get(nearest[0]) if nearest and nearest[1] >= REINFORCED_AT else None
    if known is None:
        put = linked(entry, current, "entry.superseded_by")
        answer = Answer(STORED, put, similarity)
        return Change(answer, puts=(put,), vectors={put.id: vector})
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
    records: Mapping[int, Entry], vectors: Mapping[str, Vector], current: Mapping[str, Entry]
) -> tuple[Change, ImportFaults]:
    """Take in the records, given by index, that are not there just so; tell those that can't be.

    A record that the store has with the same content counts as unchanged, so that sending a
    batch again changes nothing; what the store counted since (accesses, reinforcements,
    supersession) is kept. The answer's outcome is the number of records that were stored.
    """
    seen = dict(current)
    # Links inside the batch may point forward, so the whole batch is looked through.
    known = ChainMap(seen, {each.id: each for each in records.values()})
    puts: dict[str, Entry] = {}
    faults: ImportFaults = {}
    for index, record in records.items():
        old = seen.get(record.id)
        try:
            _same_place(record, old)
            new = _with_counters(linked(record, known, "entry.superseded_by"), old)
        except InvalidInput as error:
            faults[index] = error.violations
            continue
        if old is None or replace(new, version=old.version) != old:
            seen[new.id] = puts[new.id] = new
    answer = Answer(str(len(puts)))
    kept = {name: vector for name, vector in vectors.items() if name in puts}
    written = (*puts.values(), *relinked(puts, current))
    return Change(answer, puts=written, vectors=kept), faults


def linked(entry: Entry, current: Mapping[str, Entry], field: str) -> Entry:
    """The entry with its supersession checked and dated.

    The link counts from when the replacement holds, or was first stated. A link to an entry
    that is not known (yet) counts from the entry's own last statement. Raises InvalidInput for a
    link to itself, to another owner's entry, or one that would close a loop: of a loop, every
    side would be lost.
    """
    if not entry.superseded_by:
        return replace(entry, supersede_time=None)
    target = current.get(entry.superseded_by)
    if target is None:
        return replace(entry, supersede_time=entry.supersede_time or entry.update_time)
    if target.owner != entry.owner:
        raise InvalidInput([Violation(field, "must be an entry of the same owner")])
    hop: Entry | None = target
    visited: set[str] = set()
    while hop is not None and hop.id not in visited:
        if hop.id == entry.id:
            raise InvalidInput([Violation(field, "must not lead back to the entry itself")])
        visited.add(hop.id)
        hop = current.get(hop.superseded_by)
    return replace(entry, supersede_time=_link_time(target))


def relinked(puts: Mapping[str, Entry], current: Mapping[str, Entry]) -> list[Entry]:
    """Entries whose replacement has only now come, or come otherwise: their link is dated anew.

    So it does not matter in which order an import brings two sides of a link.
    """
    return [
        replace(old, supersede_time=time)
        for old in current.values()
        if old.superseded_by in puts and old.id not in puts
        for time in [_link_time(puts[old.superseded_by])]
        if old.supersede_time != time
    ]


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
    if old is None:
        return new
    link = (
        (new.superseded_by, new.supersede_time)
        if new.superseded_by
        else (
            old.superseded_by,
            old.supersede_time,
        )
    )
    return replace(
        new,
        access_count=max(new.access_count, old.access_count),
        reinforcement_count=max(new.reinforcement_count, old.reinforcement_count),
        last_access_time=old.last_access_time or new.last_access_time,
        superseded_by=link[0],
        supersede_time=link[1],
    )

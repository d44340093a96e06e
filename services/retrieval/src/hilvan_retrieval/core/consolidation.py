"""What a consolidation does to the record, step by step, and how a step is taken back.

Pure decisions on the entries as they are. A proposal that does not fit them any more becomes no
step; whoever proposes may be late, or have been here before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hilvan_retrieval.core.duplicate import MERGED_LAYERS
from hilvan_retrieval.core.entry import linked, reinforced
from hilvan_retrieval.model.consolidation import Action, Proposal, Step
from hilvan_retrieval.model.contradiction import RecordedContradiction
from hilvan_retrieval.model.entry import Entry, Layer

MOST_TAGS = 32
"""As many as a request may give an entry."""

DECAYING_LAYERS = (Layer.MEMORY, Layer.PROCEDURE)
"""What happened does not get less certain by not being mentioned, and notes are files."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The times and bounds of a consolidation.

    Attributes:
        retention: how long after its end an entry stays in the record.
        half_life: in what time an unconfirmed confidence is halved.
        unconfirmed: how long nothing must have confirmed it before it is lowered.
        least_confidence: below this, 0 to 1, none is lowered.
        journal: how long after its end a run can be undone.
        sightings: how often a conflict must have been seen.
    """

    retention: timedelta = timedelta(days=90)
    half_life: timedelta = timedelta(days=180)
    unconfirmed: timedelta = timedelta(days=30)
    least_confidence: float = 0.1
    journal: timedelta = timedelta(days=30)
    sightings: int = 1


_Images = Mapping[str, Entry | None]
"""Entries by id as a step leaves them; None: not at all."""


def is_live(entry: Entry, now: datetime) -> bool:
    """Whether an entry counts now and nothing is going to replace it."""
    now_ms = int(now.timestamp() * 1000)
    return not entry.superseded_by and entry.live_from_ms <= now_ms < entry.live_until_ms


def retirement(conflict: RecordedContradiction) -> Proposal:
    """Propose what a conflict asks for."""
    found = conflict.found
    return Proposal(
        Action.RETIRED,
        found.older_id,
        found.newer_id,
        found.evidence,
        conflict.older_hash,
        conflict.newer_hash,
    )


def expiry(entry: Entry) -> Proposal:
    """Propose that an entry leaves the record."""
    end = _end(entry)
    return Proposal(Action.EXPIRED, entry.id, reason=f"ended {end:%Y-%m-%d}" if end else "")


def decay(entry: Entry, rules: Rules, now: datetime) -> Proposal:
    """Propose to lower an entry's confidence."""
    old, new = entry.confidence or 0.0, _lowered(entry, rules, now)
    days = (now - _last_word(entry)).days
    reason = f"confidence {old:.2f} to {new:.2f}, unconfirmed for {days} days" if new else ""
    return Proposal(Action.DECAYED, entry.id, reason=reason)


def take_steps(
    proposals: Sequence[Proposal], current: Mapping[str, Entry], rules: Rules, now: datetime
) -> list[Step]:
    """What becomes of proposals, one after the other, on the entries as they are."""
    known = dict(current)
    steps = []
    for each in proposals:
        after = _DECISIONS[each.action](each, known, rules, now)
        if not after:
            continue
        before = tuple(known[name] for name in after)
        left = tuple(entry for entry in after.values() if entry is not None)
        for gone in after:
            del known[gone]
        known |= {entry.id: entry for entry in left}
        steps.append(Step(each.action, each.entry_id, each.other_id, each.reason, before, left))
    return steps


def restored(step: Step, current: Mapping[str, Entry]) -> list[Entry] | None:
    """The entries of a step as they were before it, or None when one has changed since.

    Accesses that were counted since are no change, and are kept.
    """
    left = {entry.id: entry for entry in step.after}
    if any(not _is_still(current.get(old.id), left.get(old.id)) for old in step.before):
        return None
    return [
        _with_accesses(old, left[old.id], current[old.id]) if old.id in left else old
        for old in step.before
    ]


def _merge(proposal: Proposal, known: Mapping[str, Entry], _rules: Rules, now: datetime) -> _Images:
    pair = _pair(proposal, known, now)
    if pair is None or pair[0].layer is not pair[1].layer:
        return {}
    twin, leader = pair
    return {twin.id: _replaced(twin, leader, now), leader.id: _strengthened(leader, twin, now)}


def _retire(
    proposal: Proposal, known: Mapping[str, Entry], _rules: Rules, now: datetime
) -> _Images:
    pair = _pair(proposal, known, now)
    return {pair[0].id: _replaced(*pair, now)} if pair else {}


def _expire(proposal: Proposal, known: Mapping[str, Entry], rules: Rules, now: datetime) -> _Images:
    entry = known.get(proposal.entry_id)
    end = _end(entry) if entry else None
    if entry is None or end is None or entry.layer is Layer.NOTE:
        return {}
    # What was told or judged after it ended is not yet old: the end may be a link's to the past.
    last = max(time for time in (end, entry.update_time, entry.decay_time) if time)
    return {entry.id: None} if now - last > rules.retention else {}


def _decay(proposal: Proposal, known: Mapping[str, Entry], rules: Rules, now: datetime) -> _Images:
    entry = known.get(proposal.entry_id)
    lowered = _lowered(entry, rules, now) if entry else None
    if entry is None or lowered is None:
        return {}
    return {entry.id: replace(entry, confidence=lowered, decay_time=now)}


_DECISIONS: Mapping[Action, Callable[[Proposal, Mapping[str, Entry], Rules, datetime], _Images]] = {
    Action.MERGED: _merge,
    Action.RETIRED: _retire,
    Action.EXPIRED: _expire,
    Action.DECAYED: _decay,
}


def _pair(
    proposal: Proposal, known: Mapping[str, Entry], now: datetime
) -> tuple[Entry, Entry] | None:
    """The one that gives way and the one that stays.

    Both must be live, so neither is replaced by anything: a link between them closes no loop.
    """
    one, other = known.get(proposal.entry_id), known.get(proposal.other_id)
    if one is None or other is None or one.id == other.id or one.owner != other.owner:
        return None
    hashes = (one.content_hash, other.content_hash)
    if hashes != (proposal.entry_hash, proposal.other_hash):
        return None
    layers_fit = one.layer in MERGED_LAYERS and other.layer in MERGED_LAYERS
    return (one, other) if layers_fit and is_live(one, now) and is_live(other, now) else None


def _replaced(entry: Entry, by: Entry, now: datetime) -> Entry:
    link = replace(entry, superseded_by=by.id, decay_time=now)
    return linked(link, {by.id: by}, "superseded_by")


def _strengthened(leader: Entry, twin: Entry, now: datetime) -> Entry:
    """The leader after it was said once more, by a twin that was said so often itself.

    Its update time stays: it was said then, not now.
    """
    surest = _highest(leader.confidence, twin.confidence)
    accesses = [time for time in (leader.last_access_time, twin.last_access_time) if time]
    return replace(
        reinforced(replace(leader, confidence=surest), now),
        update_time=leader.update_time,
        reinforcement_count=leader.reinforcement_count + 1 + twin.reinforcement_count,
        access_count=leader.access_count + twin.access_count,
        last_access_time=max(accesses, default=None),
        importance=_highest(leader.importance, twin.importance),
        tags=tuple(dict.fromkeys((*leader.tags, *twin.tags)))[:MOST_TAGS],
        decay_time=now,
    )


def _highest(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _end(entry: Entry) -> datetime | None:
    return min((end for end in (entry.valid_until, entry.supersede_time) if end), default=None)


def _last_word(entry: Entry) -> datetime:
    times = (entry.update_time, entry.last_access_time, entry.decay_time)
    return max(time for time in times if time)


def _lowered(entry: Entry, rules: Rules, now: datetime) -> float | None:
    """The confidence after decay, or None. One that nobody stated is neutral and stays so."""
    if entry.confidence is None or entry.layer not in DECAYING_LAYERS or not is_live(entry, now):
        return None
    age = now - _last_word(entry)
    if age < rules.unconfirmed:
        return None
    kept = float(entry.confidence * 2 ** -(age / rules.half_life))
    lowered = max(rules.least_confidence, kept)
    return lowered if lowered < entry.confidence else None


def _is_still(current: Entry | None, left: Entry | None) -> bool:
    if current is None or left is None:
        return current is left
    return _comparable(current) == _comparable(left)


def _comparable(entry: Entry) -> Entry:
    """Without what changes by itself: versions only count, and may have been put back before."""
    return replace(entry, version=0, access_count=0, last_access_time=None)


def _with_accesses(old: Entry, left: Entry, current: Entry) -> Entry:
    was_accessed = current.last_access_time != left.last_access_time
    return replace(
        old,
        access_count=old.access_count + current.access_count - left.access_count,
        last_access_time=current.last_access_time if was_accessed else old.last_access_time,
    )

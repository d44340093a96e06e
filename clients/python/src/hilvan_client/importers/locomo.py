"""LoCoMo, long conversations with questions (Maharana et al. 2024, snap-research/locomo).

A file is a list of samples: ``sample_id``; ``conversation`` with lists of turns ``session_N`` and
their ``session_N_date_time`` such as ``1:56 pm on 8 May, 2023``; ``qa`` with ``evidence``, the ids
of turns such as ``D1:3``.

| LoCoMo                            | Entry                                                  |
|-----------------------------------|--------------------------------------------------------|
| a turn                            | EPISODE, id ``<sample_id>:<dia_id>``                   |
| ``speaker text [blip_caption]``   | text ``speaker: text [image: caption]``                |
| the date and time of the session  | create_time, read as UTC                               |
| the sample                        | the owner: project ``<sample_id>``                     |
| the session                       | origin.thread ``<sample_id>/<session_N>``              |
| the turn's place in it, from 0    | origin.position; origin.kind ``locomo``                |
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from hilvan.common.v1.entry_pb2 import AXIS_PROJECT, LAYER_EPISODE, Entry, Origin, Owner
from hilvan_client.importers import items
from hilvan_client.importers.items import BadRecord, Fault, ImportItem, Record

_SESSION = re.compile(r"session_(\d+)")
# Some references hold several ids in one string.
_TURN_ID = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the entries that answer it, at least one.

    ``category``: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    """

    sample_id: str
    text: str
    answer: str
    category: int
    evidence: tuple[str, ...]


def recognises(document: object) -> bool:
    """Whether a parsed file looks like LoCoMo."""
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, Mapping) and "conversation" in first


def read(document: Any, owner: Owner | None = None) -> Iterator[ImportItem]:
    """Read the turns of all samples; ``owner`` replaces the samples' projects."""
    for place, sample in enumerate(document):
        try:
            sample_id = items.required_text(items.mapping(sample, "the sample"), "sample_id")
            conversation = items.mapping(sample.get("conversation"), "conversation")
        except BadRecord as error:
            yield Fault(f"sample {place}", str(error))
            continue
        whose = owner or Owner(axis=AXIS_PROJECT, id=sample_id)
        for session in _sessions(conversation):
            yield from _read_session(sample_id, session, conversation, whose)


def read_questions(document: Any) -> Iterator[Question]:
    """Read the questions whose evidence resolves to turns, in order; leave the others out.

    Of a question with several references, those that resolve count.
    """
    for sample in document:
        sample_id, conversation = sample["sample_id"], sample["conversation"]
        turns = {
            turn.get("dia_id") for name in _sessions(conversation) for turn in conversation[name]
        }
        for question in sample.get("qa", ()):
            references = " ".join(question.get("evidence", ()))
            evidence = [turn for turn in _TURN_ID.findall(references) if turn in turns]
            if evidence:
                yield Question(
                    sample_id=sample_id,
                    text=question["question"],
                    answer=str(question.get("answer", "")),
                    category=question["category"],
                    evidence=tuple(f"{sample_id}:{turn}" for turn in dict.fromkeys(evidence)),
                )


def _sessions(conversation: Record) -> list[str]:
    """The names of the sessions that have turns, in the order of their numbers."""
    found = [name for name in conversation if _SESSION.fullmatch(name) and conversation[name]]
    return sorted(found, key=lambda name: int(name.removeprefix("session_")))


def _read_session(
    sample_id: str, session: str, conversation: Record, owner: Owner
) -> Iterator[ImportItem]:
    thread = f"{sample_id}/{session}"
    try:
        time = _time(items.text(conversation, f"{session}_date_time"))
    except BadRecord as error:
        yield Fault(thread, str(error))
        return
    for place, turn in enumerate(items.listed(conversation, session)):
        origin = Origin(kind="locomo", thread=thread, position=place)
        base = Entry(layer=LAYER_EPISODE, owner=owner, origin=origin, create_time=time)
        make = partial(_entry, sample_id, turn, base)
        yield from items.attempt(f"{thread}, turn {place}", make)


def _entry(sample_id: str, turn: Any, base: Entry) -> Entry:
    record = items.mapping(turn, "the turn")
    said = f"{items.required_text(record, 'speaker')}: {items.text(record, 'text')}"
    caption = items.text(record, "blip_caption")
    base.id = items.entry_id(sample_id, items.required_text(record, "dia_id"))
    base.text = f"{said} [image: {caption}]" if caption else said
    return base


def _time(value: str) -> Timestamp:
    stamp = Timestamp()
    try:
        stamp.FromDatetime(datetime.strptime(value, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC))
    except ValueError:
        raise BadRecord(f"its date and time can't be read: {value[:64]!r}") from None
    return stamp

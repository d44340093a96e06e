"""Lanes of single writes: upsert, update, delete, supersede, accesses, statements."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import grpc
from crash.lanes import Lost, Session, WritingLane
from crash.model import ADDED, Operation, World, copied
from google.protobuf.field_mask_pb2 import FieldMask

from hilvan.common.v1 import entry_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.retrieval.v1 import retrieval_service_pb2 as pb

IDS = 50
STATEMENTS = 40
WAITING = 0.1
FIRST_TIME = datetime(2026, 1, 5, 12, tzinfo=UTC)
LAYERS = (entry_pb2.LAYER_MEMORY, entry_pb2.LAYER_EPISODE, entry_pb2.LAYER_PROCEDURE)
WORDS = (
    *("deploy", "rollback", "index", "queue", "sailor", "lantern"),
    *("budget", "invoice", "harbour", "cache", "retry", "tea"),
)
CONTENT = frozenset({"title", "text", "category"})


def sentence(rng: Random) -> str:
    """A text whose first word no other text has."""
    return f"w{rng.getrandbits(56):014x} {' '.join(rng.choices(WORDS, k=rng.randint(3, 12)))}"


def version_after(entry: Entry | None) -> str:
    """The etag of an entry after one more write."""
    return str(int(entry.etag) + 1 if entry else 1)


class Writer(WritingLane):
    """Writes, changes, replaces and deletes a set of ids in a random order."""

    def __init__(self, world: World, tenant: str, owner: str, seed: str) -> None:
        """Own the ids that begin with the owner's name."""
        super().__init__(world, tenant, owner, seed)
        self._ids = [f"{owner}/{number:03}" for number in range(IDS)]

    def draw(self) -> Operation:
        """The next call, of what the entries allow."""
        known = [name for name in self._ids if name in self.world.truth]
        if len(known) < IDS // 3:
            return self._upsert()
        kinds = (self._upsert, self._update, self._delete, self._supersede, self._accesses)
        return self.rng.choices(kinds, (30, 30, 12, 12, 16))[0]()

    def learn(self, operation: Operation, answer: Any) -> None:
        """Compare the number of counted accesses as well."""
        super().learn(operation, answer)
        if operation.name == "accesses" and answer.counted_count != len(operation.before):
            raise self.world.violation("accesses counted otherwise", operation.ids, answer)

    async def check(self, operation: Operation, answer: Any, session: Session) -> None:
        """What was waited for is found by its word at once."""
        if operation.name != "upsert" or not operation.request.wait:
            return
        entry = answer.entry
        request = pb.SearchEntriesRequest(
            query=entry.text.split()[0],
            source=entry_pb2.SOURCE_KEYWORD,
            owners=[entry.owner],
            limit=5,
        )
        try:
            found = await session.stub(self.tenant).call("SearchEntries", request)
        except Lost:
            return
        self.world.counts["found after waiting"] += 1
        is_found = entry.id in [each.entry.id for each in found.candidates]
        if not is_found and not (operation.while_rebuilding or self.world.rebuilding):
            raise self.world.violation("waited for and not found", [entry.id], entry)

    def _known(self) -> str:
        return self.rng.choice([name for name in self._ids if name in self.world.truth])

    def _loose(self, *names: str) -> frozenset[str]:
        return frozenset({"content_hash", *names})

    def _wait(self) -> bool:
        return self.rng.random() < WAITING

    def _upsert(self) -> Operation:
        name = self.rng.choice(self._ids)
        number = int(name.rpartition("/")[2])
        entry = Entry(id=name, layer=LAYERS[number % 3], text=sentence(self.rng))
        entry.owner.axis, entry.owner.id = entry_pb2.AXIS_USER, self.owner
        entry.title = self.rng.choice(("", f"about {self.rng.choice(WORDS)}"))
        entry.category = self.rng.choice(("", "fact", "preference"))
        entry.tags.extend(self.rng.sample(WORDS, self.rng.randint(0, 3)))
        if self.rng.random() < 0.5:
            entry.importance, entry.confidence = self.rng.random(), self.rng.random()
        # One time an id: so no link to it is ever dated anew.
        entry.create_time.FromDatetime(FIRST_TIME + timedelta(seconds=number))
        written = FIRST_TIME + timedelta(seconds=self.rng.randrange(10**6))
        entry.update_time.FromDatetime(written)
        before = self.world.truth.get(name)
        after = copied(entry)
        after.etag = version_after(before)
        request = pb.UpsertEntryRequest(
            entry=entry, request_id=self.new_request(), wait=self._wait()
        )
        return Operation(
            "upsert", "UpsertEntry", request, {name: before}, [{name: after}], self._loose()
        )

    def _update(self) -> Operation:
        name = self._known()
        before = self.world.truth[name]
        fields = self.rng.sample(("title", "text", "importance", "tags", "category"), 2)
        values = Entry(id=name, text=sentence(self.rng), title=self.rng.choice(WORDS))
        values.importance, values.category = self.rng.random(), self.rng.choice(WORDS)
        values.tags.append(self.rng.choice(WORDS))
        after = copied(before)
        mask = FieldMask(paths=fields)
        mask.MergeMessage(values, after, replace_repeated_field=True)
        after.etag = version_after(before)
        is_restated = any(getattr(after, each) != getattr(before, each) for each in CONTENT)
        is_late = self.rng.random() < 0.1
        values.etag = "999999" if is_late else self.rng.choice(("", before.etag))
        request = pb.UpdateEntryRequest(
            entry=values, update_mask=mask, request_id=self.new_request(), wait=self._wait()
        )
        return Operation(
            "update",
            "UpdateEntry",
            request,
            {name: before},
            [{name: before if is_late else after}],
            self._loose(*(("update_time",) if is_restated else ())),
            refusal=grpc.StatusCode.ABORTED if is_late else None,
        )

    def _delete(self) -> Operation:
        name = self._known()
        before = self.world.truth[name]
        etag = self.rng.choice(("", before.etag))
        request = pb.DeleteEntryRequest(
            id=name, etag=etag, request_id=self.new_request(), wait=self._wait()
        )
        return Operation("delete", "DeleteEntry", request, {name: before}, [{name: None}])

    def _supersede(self) -> Operation:
        old, new = sorted((self._known(), self._known()))
        if old == new:
            return self._upsert()
        before = self.world.truth[old]
        after = copied(before)
        # Only to greater ids, so that no link closes a loop.
        after.superseded_by = new
        after.supersede_time.CopyFrom(self.world.truth[new].create_time)
        after.etag = version_after(before)
        request = pb.SupersedeEntryRequest(
            id=old, superseded_by=new, request_id=self.new_request(), wait=self._wait()
        )
        return Operation("supersede", "SupersedeEntry", request, {old: before}, [{old: after}])

    def _accesses(self) -> Operation:
        names = sorted({self._known() for _ in range(self.rng.randint(1, 5))})
        before = {name: self.world.truth[name] for name in names}
        after = {name: copied(entry) for name, entry in before.items()}
        for each in after.values():
            each.access_count += 1
        request = pb.RecordAccessesRequest(
            ids=[*names, f"{self.owner}/nobody"], request_id=self.new_request()
        )
        loose = frozenset({"last_access_time"})
        return Operation("accesses", "RecordAccesses", request, before, [after], loose)


class Rememberer(WritingLane):
    """States new things and repeats old ones; the record must count each repetition once."""

    name = "remember"

    def __init__(self, world: World, tenant: str, owner: str, seed: str) -> None:
        """Own all entries of the owner."""
        super().__init__(world, tenant, owner, seed)
        self._said: dict[str, str] = {}

    def draw(self) -> Operation:
        """State something new, or once more; forget the oldest of too many."""
        if len(self._said) > STATEMENTS:
            return self._forget(next(iter(self._said)))
        if self._said and self.rng.random() < 0.5:
            return self._remember(self.rng.choice(list(self._said)))
        # Of no word twice: nothing that it says is like anything else.
        return self._remember(" ".join(f"{self.rng.getrandbits(40):010x}" for _ in range(6)))

    def learn(self, operation: Operation, answer: Any) -> None:
        """Know what was said, and under which id."""
        super().learn(operation, answer)
        if operation.name == "forget":
            return
        text, is_known = operation.request.entry.text, ADDED not in operation.afters[0]
        if is_known and answer.outcome == pb.REMEMBER_OUTCOME_STORED:
            if not (operation.while_rebuilding or self.world.rebuilding):
                told = "said before, and stored once more"
                raise self.world.violation(told, operation.ids, answer)
            # Allowed while an index is rebuilt; which of both is meant from now on is open.
            self.world.counts["stored again while an index was rebuilt"] += 1
            del self._said[text]
        elif not is_known:
            self._said[text] = answer.entry.id

    def _remember(self, text: str) -> Operation:
        entry = Entry(layer=entry_pb2.LAYER_MEMORY, text=text, confidence=0.25)
        entry.owner.axis, entry.owner.id = entry_pb2.AXIS_USER, self.owner
        new = copied(entry)
        new.etag = "1"
        known = self._said.get(text)
        before = {known: self.world.truth[known]} if known else {}
        afters: list[dict[str, Entry | None]] = [{ADDED: new}]
        if known:
            after = copied(self.world.truth[known])
            after.reinforcement_count += 1
            after.confidence = 1.0 - (1.0 - after.confidence) * (1.0 - 0.2)
            after.etag = version_after(after)
            stored: dict[str, Entry | None] = {known: self.world.truth[known], ADDED: new}
            afters = [{known: after}, stored]
        request = pb.RememberRequest(
            entry=entry, request_id=self.new_request(), wait=self.rng.random() < WAITING
        )
        loose = frozenset({"content_hash", "create_time", "update_time"})
        return Operation("remember", "Remember", request, before, afters, loose, text=text)

    def _forget(self, text: str) -> Operation:
        name = self._said.pop(text)
        request = pb.DeleteEntryRequest(id=name, request_id=self.new_request())
        before = {name: self.world.truth[name]}
        return Operation("forget", "DeleteEntry", request, before, [{name: None}])

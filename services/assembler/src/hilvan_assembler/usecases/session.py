"""What a session begins with."""

from dataclasses import dataclass

from hilvan_assembler.core import session
from hilvan_assembler.errors import ServiceError
from hilvan_assembler.model.curation import CurationAnswer
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.session import Brief, Start
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports.curation import Curation
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.usecases.services import early, lost
from hilvan_kit.deadlines import Deadline
from hilvan_kit.together import together


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A call to start a session; ``project_id`` empty: the caller's personal scope.

    A ``preview`` answers the same and opens nothing.
    """

    caller: Caller
    project_id: str
    deadline: Deadline
    preview: bool = False


@dataclass(frozen=True, slots=True)
class _ProjectAnswers:
    """What the other services said of a project."""

    curation_answer: CurationAnswer
    brief: Brief
    entries: tuple[Entry, ...]
    degraded: tuple[Degradation, ...]


class SessionStarter:
    """Starts sessions. Keeps nothing between calls."""

    def __init__(self, retrieval: Retrieval, curation: Curation) -> None:
        """Take the two other services."""
        self._retrieval = retrieval
        self._curation = curation

    async def start(self, call: SessionCall) -> Start:
        """Ask everything at once. Raises ProjectNotFound, and ServiceError without curation."""
        caller, deadline = call.caller, call.deadline
        personal, brief, opening, project = await together(
            self._curation.resolve(caller, "", "", deadline),
            self._curation.brief(caller, "", deadline),
            self._curation.open_session(
                caller, call.project_id, preview=call.preview, deadline=deadline
            ),
            self._project(call),
        )
        if project is None:
            return session.start(personal.elements, brief, opening, None, ())
        part = session.project_start(
            personal.elements,
            project.curation_answer.elements,
            project.brief,
            opening,
            project.entries,
        )
        return session.start(personal.elements, brief, opening, part, project.degraded)

    async def _project(self, call: SessionCall) -> _ProjectAnswers | None:
        if not call.project_id:
            return None
        curation_answer, brief, (entries, degraded) = await together(
            self._curation.resolve(call.caller, call.project_id, "", call.deadline),
            self._curation.brief(call.caller, call.project_id, call.deadline),
            self._entries(call),
        )
        return _ProjectAnswers(curation_answer, brief, entries, degraded)

    async def _entries(
        self, call: SessionCall
    ) -> tuple[tuple[Entry, ...], tuple[Degradation, ...]]:
        """The project's entries, or none: a session can begin without them."""
        try:
            entries = await self._retrieval.project_entries(
                call.caller, call.project_id, early(call.deadline)
            )
        except ServiceError as error:
            return (), (lost(error),)
        return tuple(entries), ()

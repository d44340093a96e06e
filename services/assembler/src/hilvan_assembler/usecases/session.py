"""What a session begins with."""

from dataclasses import dataclass

from hilvan_assembler.errors import ServiceError
from hilvan_assembler.model.curation import CurationAnswer, Element
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.session import Brief, Changed, SessionOpening
from hilvan_assembler.model.turn import Caller
from hilvan_assembler.ports.curation import Curation
from hilvan_assembler.ports.retrieval import Retrieval
from hilvan_assembler.usecases.together import early, lost, together
from hilvan_kit.deadlines import Deadline

NEWS_MOST = 50


@dataclass(frozen=True, slots=True)
class ProjectStart:
    """The part of the answer that a project adds."""

    elements: tuple[Element, ...]
    opening: SessionOpening
    news: tuple[Changed, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """What a session begins with; ``muted`` are the profile's categories that stay silent."""

    session_id: str
    profile: tuple[Element, ...]
    own: Brief
    project: ProjectStart | None
    degraded: tuple[Degradation, ...]


class Starter:
    """Starts sessions."""

    def __init__(self, retrieval: Retrieval, curation: Curation) -> None:
        """Take the two other services."""
        self._retrieval = retrieval
        self._curation = curation

    async def start(
        self, caller: Caller, project_id: str, deadline: Deadline, *, preview: bool
    ) -> Start:
        """Ask everything at once. Raises ProjectNotFound, and ServiceError without curation."""
        personal, own, opening, project = await together(
            self._curation.resolve(caller, "", "", deadline),
            self._curation.brief(caller, "", deadline),
            self._curation.open_session(caller, project_id, preview=preview, deadline=deadline),
            self._project(caller, project_id, deadline),
        )
        if project is None:
            return Start(opening.session_id, personal.elements, own, None, ())
        answer, brief, changed, degraded = project
        part = _project_start(personal, answer, brief, opening, changed)
        return Start(opening.session_id, personal.elements, own, part, degraded)

    async def _project(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> tuple[CurationAnswer, Brief, tuple[Changed, ...], tuple[Degradation, ...]] | None:
        if not project_id:
            return None
        answer, brief, news = await together(
            self._curation.resolve(caller, project_id, "", deadline),
            self._curation.brief(caller, project_id, deadline),
            self._news(caller, project_id, deadline),
        )
        return answer, brief, *news

    async def _news(
        self, caller: Caller, project_id: str, deadline: Deadline
    ) -> tuple[tuple[Changed, ...], tuple[Degradation, ...]]:
        """The project's entries, or none: a session can begin without them."""
        try:
            changed = await self._retrieval.changed(caller, project_id, early(deadline))
        except ServiceError as error:
            return (), (lost(error),)
        return tuple(changed), ()


def _project_start(
    personal: CurationAnswer,
    answer: CurationAnswer,
    brief: Brief,
    opening: SessionOpening,
    changed: tuple[Changed, ...],
) -> ProjectStart:
    """Leave out what the profile has already, what is muted, and what is no news."""
    own = {each.note_id for each in personal.elements}
    muted = {name for name, is_muted, _ in brief.categories if is_muted}
    named = {name for name, is_muted, _ in brief.categories if not is_muted}
    used = {each.category for each in changed if each.category and not each.is_note}
    since = opening.since
    news = [each for each in changed if since is not None and each.update_time > since]
    loud = [each for each in news if each.category not in muted and not each.is_note]
    return ProjectStart(
        elements=tuple(e for e in answer.elements if e.note_id not in own and not e.is_memory),
        opening=opening,
        news=tuple(loud[:NEWS_MOST]),
        categories=tuple(sorted((used | named) - muted)),
    )

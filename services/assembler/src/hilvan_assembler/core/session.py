"""What of a project is new to a session's caller."""

from collections.abc import Sequence

from hilvan_assembler.model.curation import Element
from hilvan_assembler.model.degradation import Degradation
from hilvan_assembler.model.entry import Entry
from hilvan_assembler.model.kind import Layer
from hilvan_assembler.model.session import Brief, ProjectStart, SessionOpening, Start

MAX_CHANGED_ENTRIES = 50


def start(
    profile: tuple[Element, ...],
    brief: Brief,
    opening: SessionOpening,
    project: ProjectStart | None,
    degraded: tuple[Degradation, ...],
) -> Start:
    """What a session begins with: of the caller's own categories, those that are not muted."""
    muted = {category.category for category in brief.categories if category.muted}
    return Start(
        session_id=opening.session_id,
        profile=profile,
        categories=tuple(c for c in brief.categories if c.category not in muted),
        projects=brief.projects,
        project=project,
        degraded=degraded,
    )


def project_start(
    personal: Sequence[Element],
    elements: Sequence[Element],
    brief: Brief,
    opening: SessionOpening,
    entries: Sequence[Entry],
) -> ProjectStart:
    """The project's part: without what the profile has already, what is muted, what is no news.

    ``entries`` are the project's, the newest update first.
    """
    profile = {element.note_id for element in personal}
    muted = {category.category for category in brief.categories if category.muted}
    named = {category.category for category in brief.categories if not category.muted}
    memories = [entry for entry in entries if entry.layer is not Layer.NOTE]
    used = {entry.category for entry in memories if entry.category}
    since = opening.since
    changed = [
        entry
        for entry in memories
        if since is not None and entry.update_time > since and entry.category not in muted
    ]
    return ProjectStart(
        elements=tuple(
            element
            for element in elements
            if element.note_id not in profile and not element.is_memory
        ),
        opening=opening,
        changed_entries=tuple(changed[:MAX_CHANGED_ENTRIES]),
        categories=tuple(sorted((used | named) - muted)),
    )

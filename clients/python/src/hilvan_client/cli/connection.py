"""From a command to the services: connect, call, close."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from hilvan_client.cli.output import Code, CommandError
from hilvan_client.cli.settings import DEVELOPMENT_USER, Settings
from hilvan_client.service_config import Service

if TYPE_CHECKING:
    from hilvan.common.v1.entry_pb2 import Owner
    from hilvan_client import Hilvan

T = TypeVar("T")


def call(settings: Settings, work: "Callable[[Hilvan], Awaitable[T]]") -> T:
    """Run ``work`` with a client that is closed afterwards."""
    import asyncio

    return asyncio.run(_call(settings, work))


async def _call(settings: Settings, work: "Callable[[Hilvan], Awaitable[T]]") -> T:
    from hilvan_client import Hilvan

    addresses = settings.addresses()
    async with Hilvan.connect(
        retrieval=addresses[Service.RETRIEVAL],
        curation=addresses[Service.CURATION],
        assembler=addresses[Service.ASSEMBLER],
        credential=settings.api_key,
        tenant=settings.tenant,
        user=settings.user,
        timeout=settings.timeout,
    ) as hilvan:
        return await work(hilvan)


async def project_id(hilvan: "Hilvan", project: str | None) -> str:
    """The id of a project that is given as id or as handle ``space/slug``; empty for none."""
    if not project or "/" not in project:
        return project or ""
    from hilvan.curation.v1.curation_service_pb2 import ListProjectsRequest

    answer = await hilvan.curation.ListProjects(ListProjectsRequest())
    for known in answer.projects:
        if known.handle == project:
            return known.id
    raise CommandError(
        f"no project has the handle {project!r}, or none that you can read",
        "`hilvan vault list` shows the handles",
        Code.NOT_FOUND,
    )


async def owner(
    hilvan: "Hilvan", settings: Settings, user: str | None, project: str | None
) -> "Owner":
    """Who owns what is written: the project, else the user, else who calls."""
    from hilvan.common.v1.entry_pb2 import AXIS_PROJECT, AXIS_USER, Owner

    if user and project:
        raise CommandError("a user and a project are given", "give one of them", Code.USAGE)
    if project:
        return Owner(axis=AXIS_PROJECT, id=await project_id(hilvan, project))
    name = user or settings.user or ("" if settings.api_key else DEVELOPMENT_USER)
    if not name:
        raise CommandError(
            "it is not known whose this is: a key does not say its user here",
            "give --user before the command, or --project",
            Code.USAGE,
        )
    return Owner(axis=AXIS_USER, id=name)

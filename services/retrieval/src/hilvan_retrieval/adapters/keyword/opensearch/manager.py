"""Making, checking and removing the index in OpenSearch."""

from collections.abc import Mapping
from typing import Any

import orjson

from hilvan_retrieval.adapters.keyword.opensearch import schema
from hilvan_retrieval.adapters.keyword.opensearch.client import (
    NO_ACCESS,
    NOT_FOUND,
    Client,
    Refused,
)
from hilvan_retrieval.errors import EngineMisconfigured


class Manager:
    """What a user with more privileges than search does to one index behind its alias."""

    def __init__(self, client: Client, name: str, timeout: float) -> None:
        """Manage the alias ``name``; each step may take ``timeout`` seconds."""
        self._client = client
        self._name = name
        self._timeout = timeout

    async def ensure(self, body: Mapping[str, Any]) -> bool:
        """Make the index of ``body`` where there is none, check one that is there, wait for it.

        Returns:
            Whether this call made it.

        Raises:
            EngineMisconfigured: it exists in another form, or the user may not do this.
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """
        try:
            found = await self._find()
            is_new = not found and await self._create(body)
            self._check(found or await self._find())
            await self._wait()
        except Refused as error:
            if error.status in NO_ACCESS:
                raise EngineMisconfigured(
                    f"OpenSearch does not let this user prepare the index {self._name!r}: check "
                    "user and password, and the privileges in docs/decisions/opensearch.md"
                ) from error
            raise
        return is_new

    async def drop(self) -> None:
        """Remove the index; none is no error."""
        for own_name in await self._find():
            await self._client.call("DELETE", f"/{own_name}", seconds=self._timeout)

    async def _find(self) -> dict[str, Any]:
        """What the alias stands for, by its own name; empty when there is none."""
        try:
            answer = await self._client.call("GET", f"/{self._name}", seconds=self._timeout)
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            return {}
        return dict(answer)

    async def _create(self, body: Mapping[str, Any]) -> bool:
        path = f"/{schema.concrete(self._name)}"
        content = orjson.dumps(body)
        try:
            await self._client.call("PUT", path, seconds=self._timeout, body=content)
        except Refused as error:
            if error.kind != "resource_already_exists_exception":
                raise
            return False  # another replica was faster
        return True

    def _check(self, found: Mapping[str, Any]) -> None:
        match list(found.items()):
            case []:
                fault = f"{schema.concrete(self._name)} is there, without the alias"
            case [(own_name, _)] if own_name == self._name:
                fault = "it is an index, where an alias of an index is expected"
            case [(_, index)]:
                fault = schema.fault(index["mappings"])
            case _:
                fault = f"the alias stands for several: {', '.join(sorted(found))}"
        if fault:
            raise EngineMisconfigured(
                f"OpenSearch index {self._name!r} can't be used: {fault}. Name another index, or "
                "delete this one, and run `hilvan reindex`."
            )

    async def _wait(self) -> None:
        """Wait until the primary shards serve: an index is known before they do."""
        await self._client.call(
            "GET",
            f"/_cluster/health/{self._name}",
            seconds=self._timeout,
            params={
                "wait_for_status": "yellow",
                "timeout": f"{max(1, int(self._timeout * 900))}ms",
            },
        )

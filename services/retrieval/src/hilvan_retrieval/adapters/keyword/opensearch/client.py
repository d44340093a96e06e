"""Calls of OpenSearch's REST API, and what their failures mean to retrieval."""

import asyncio
import io
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from opensearchpy import AIOHttpConnection, AsyncOpenSearch, JSONSerializer
from opensearchpy._async.http_aiohttp import OpenSearchClientResponse
from opensearchpy.exceptions import ConnectionTimeout, TransportError

from hilvan_retrieval.errors import EngineMisconfigured, SourceTimeout, SourceUnavailable

NO_ACCESS = frozenset({401, 403})
"""Statuses by which a user is refused."""

OWN_FAULTS = frozenset({400, 413})
"""Statuses that blame what was sent: sent again, it would be refused again."""

NOT_FOUND = 404

_CONNECTIONS = 32
_LONGEST_PIECE = 2**20
_KEEP_ALIVE_SECONDS = 60.0
_LONGEST_REASON = 300


class Refused(SourceUnavailable):
    """OpenSearch answered with an HTTP status that is no success.

    ``kind`` is its name of the error, such as ``resource_already_exists_exception``.
    """

    def __init__(self, status: int, kind: str, reason: str) -> None:
        """Keep what decides; the reason is cut, because it may quote what was sent."""
        self.status = status
        self.kind = kind
        super().__init__(f"OpenSearch answered {status} {kind}: {reason[:_LONGEST_REASON]}")


class Client:
    """One address, spoken to over kept connections; nothing is tried twice."""

    def __init__(self, client: AsyncOpenSearch) -> None:
        """Take over a client; `connect` makes one."""
        self._client = client
        self._is_closed = False

    @classmethod
    def connect(
        cls, url: str, *, username: str, password: str, ca_file: Path | None, verify: bool
    ) -> "Client":
        """Prepare the client; nothing is sent yet.

        Raises:
            EngineMisconfigured: the address or the file of authorities can't be used.
        """
        address = urlsplit(url)
        if address.scheme not in {"http", "https"} or not address.hostname or "@" in address.netloc:
            # The address is not repeated: it may hold a password.
            raise EngineMisconfigured(
                "the address of OpenSearch must be http://HOST:PORT or https://HOST:PORT, "
                "with user and password in settings of their own"
            )
        host = {
            "host": address.hostname,
            "port": address.port or 9200,
            "url_prefix": address.path.strip("/"),
            "use_ssl": address.scheme == "https",
        }
        return cls(
            AsyncOpenSearch(
                hosts=[host],
                http_auth=(username, password) if username else None,
                ssl_context=_trust(ca_file, verify=verify) if host["use_ssl"] else None,
                connection_class=_Connection,
                serializer=_Json(),
                maxsize=_CONNECTIONS,
                max_retries=0,
            )
        )

    async def call(
        self,
        method: str,
        path: str,
        *,
        seconds: float,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> dict[str, Any]:
        """Send one request and read its JSON object, all in so many seconds.

        Raises:
            SourceTimeout: no answer in time.
            Refused: an answer that is no success.
            SourceUnavailable: no connection, or an answer that is no JSON object.
        """
        self.refuse_when_closed()
        if seconds <= 0:  # to aiohttp, zero is no limit
            raise SourceTimeout("OpenSearch was given no time to answer")
        try:
            answer = await self._client.transport.perform_request(
                method, path, params=dict(params or {}), body=body, timeout=seconds
            )
        except ConnectionTimeout as error:
            raise SourceTimeout(f"OpenSearch did not answer in {seconds:.3f} s") from error
        except TransportError as error:
            if isinstance(error.status_code, int):
                raise _refused(error.status_code, error.info) from error
            raise SourceUnavailable(f"OpenSearch can't be reached: {error.error}") from error
        except Exception as error:
            # What answers here may be anything, such as a proxy's page.
            raise SourceUnavailable("OpenSearch's answer can't be read") from error
        if not isinstance(answer, dict):
            raise SourceUnavailable("OpenSearch's answer can't be read")
        return answer

    def refuse_when_closed(self) -> None:
        """Raise SourceUnavailable after `close`."""
        if self._is_closed:
            raise SourceUnavailable("the connection to OpenSearch is closed")

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        self._is_closed = True
        await self._client.close()


class _Json(JSONSerializer):
    """Requests come as bytes; answers are read by the faster parser."""

    def loads(self, s: str) -> Any:
        return orjson.loads(s)

    def dumps(self, data: bytes) -> bytes | io.BytesIO:
        # What is longer goes out in pieces, so that it does not hold the loop.
        return data if len(data) <= _LONGEST_PIECE else io.BytesIO(data)


class _Connection(AIOHttpConnection):
    """The package's own, without its log: failures are raised, and logged by who handles them."""

    def log_request_success(self, *args: Any, **kwargs: Any) -> None:
        pass

    def log_request_fail(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _raise_warnings(self, warning_headers: Any) -> None:
        """Leave out notes about deprecation: they are for who writes the requests."""

    async def _create_aiohttp_session(self) -> None:
        # As the original, but connections are kept longer and no deprecated option is passed.
        connector = aiohttp.TCPConnector(
            limit=self._limit or _CONNECTIONS,
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
            ssl=self._ssl_context or True,
        )
        self.session = aiohttp.ClientSession(
            headers=self.headers,
            skip_auto_headers=("accept", "accept-encoding"),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=OpenSearchClientResponse,
            connector=connector,
        )
        self.loop = asyncio.get_running_loop()


def _trust(ca_file: Path | None, *, verify: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # also ssl.SSLError
        raise EngineMisconfigured(
            f"the file of OpenSearch's certificate authority, {ca_file}, can't be read: {error}"
        ) from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refused(status: int, info: Any) -> Refused:
    error = info.get("error") if isinstance(info, dict) else None
    if isinstance(error, dict):
        return Refused(status, str(error.get("type")), str(error.get("reason")))
    return Refused(status, "", str(error or ""))

"""A list fetched over HTTP: bytes of one version of one file, whatever happens to the connection.

The ETag of the first answer is pinned. When the connection is cut half-way the rest is asked for by Range and If-Range
(RFC 9110 §13.1.5, §14.2), and so is the rest of a part that is shorter than was asked for; a server that cannot do that
sends the file again, and what was had already is skipped and compared by its hash. `sha256` is checked over the bytes
as they were fetched, at the end.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import httpx

from .errors import ContentChangedError, SourceUnreadableError
from .http_request import Request, check_status, send, unreachable
from .http_version import Version, ends_by_itself, part_version, whole_version


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How long to wait, and how often a connection that was cut is taken up again without a byte gained."""

    connect_seconds: float = 10.0
    read_seconds: float = 60.0
    retries: int = 5
    retry_delay_seconds: float = 1.0

    def timeout(self) -> httpx.Timeout:
        """The time-outs as httpx takes them."""
        return httpx.Timeout(self.read_seconds, connect=self.connect_seconds)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a download must be. `etag`: the version to insist on, from an earlier start of the same import.

    `gzip`: the content says itself where it ends, also where the answer does not.
    """

    sha256: str | None = None
    etag: str | None = None
    gzip: bool = False


class HttpDownload:
    """The bytes of one URL. `expected`: what they must be."""

    def __init__(self, request: Request, expected: Expected, settings: HttpSettings) -> None:
        self.gzipped = False
        self.field = request.field
        self._request = request
        self._expected = expected
        self._settings = settings
        self._version = Version(etag=expected.etag)
        self._received = 0
        self._hash = hashlib.sha256()
        self._ended = False

    @property
    def etag(self) -> str | None:
        """The entity tag of the version that is pinned."""
        return self._version.etag

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes from the beginning.

        Raises `SourceUnreadableError`, and `ContentChangedError` when the server has another version by now.
        """
        failures = 0
        async with httpx.AsyncClient(timeout=self._settings.timeout(), follow_redirects=False) as client:
            while not self._ended:
                before = self._received
                try:
                    async with contextlib.aclosing(self._fetch(client)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                except httpx.TransportError as error:
                    failures = 1 if self._received > before else failures + 1
                    if not self._received or failures > self._settings.retries:
                        raise unreachable(error, self._request) from None
                    await asyncio.sleep(self._settings.retry_delay_seconds * 2 ** (failures - 1))
        self._check_sha256()

    async def _fetch(self, client: httpx.AsyncClient) -> AsyncGenerator[bytes, None]:
        """The bytes that are still missing, from one answer."""
        before = self._received
        response = await send(client, self._request, self._conditions())
        try:
            self._check(response)
            async with contextlib.aclosing(self._new(response)) as chunks:
                async for chunk in chunks:
                    self._received += len(chunk)
                    self._hash.update(chunk)
                    yield chunk
        finally:
            await response.aclose()
        self._ended = self._version.size is None or self._received >= self._version.size
        if not self._ended and self._received == before:
            message = "an answer without a byte of what is missing"
            raise httpx.RemoteProtocolError(message)

    async def _new(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The bytes of an answer that were not had before; those that were are compared by their hash."""
        skip = 0 if response.status_code == httpx.codes.PARTIAL_CONTENT else self._received
        again = hashlib.sha256()
        async for chunk in response.aiter_raw():
            old, new = chunk[:skip], chunk[skip:]
            if old:
                again.update(old)
                skip -= len(old)
                if not skip and again.digest() != self._hash.digest():
                    raise ContentChangedError("what was read before the connection broke reads otherwise now")
            if new:
                yield new
        if skip:
            raise ContentChangedError("it is shorter now")

    def _conditions(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": "sendonce"}
        if tag := self._version.strong:
            if self._received:
                headers |= {"Range": f"bytes={self._received}-", "If-Range": tag}
            else:
                headers["If-Match"] = tag
        return headers

    def _check(self, response: httpx.Response) -> None:
        if response.status_code in {httpx.codes.PRECONDITION_FAILED, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE}:
            raise ContentChangedError(f"the server answers {response.status_code} for the version that was begun")
        check_status(response, self._request)
        if response.status_code == httpx.codes.PARTIAL_CONTENT:
            version = part_version(response.headers, self._received)
        else:
            version = whole_version(response.headers)
        if version is None:
            problem = f"{self._request.shown} answers with a part that was not asked for"
            raise SourceUnreadableError(self.field, problem, temporary=True)
        self._version = self._version.pinned(version)
        self.gzipped = response.headers.get("content-encoding", "").lower() in {"gzip", "x-gzip"}
        self._check_end(response)

    def _check_end(self, response: httpx.Response) -> None:
        """Refuse what would pass for a whole list when the connection is cut half-way."""
        if ends_by_itself(response.headers) or self.gzipped or self._expected.gzip or self._expected.sha256:
            return
        problem = (
            f"{self._request.shown} answers with neither Content-Length nor chunks, so that a connection cut half-way "
            "would look like the end of the list; name its sha256, or compress it"
        )
        raise SourceUnreadableError(self.field, problem)

    def _check_sha256(self) -> None:
        if self._expected.sha256 not in {None, self._hash.hexdigest()}:
            problem = f"{self._request.shown} has SHA-256 {self._hash.hexdigest()}, not the one the campaign names"
            raise SourceUnreadableError(self.field.rpartition(".")[0] + ".sha256", problem)

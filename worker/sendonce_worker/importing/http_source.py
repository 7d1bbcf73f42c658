"""A list fetched over HTTP: bytes of one version of one file, whatever happens to the connection.

The ETag of the first answer is pinned. When the connection is cut half-way the rest is asked for by Range and If-Range
(RFC 9110 §13.1.5, §14.2); a server that cannot do that sends the file again, and what was had already is skipped and
compared by its hash. `sha256` is checked over the bytes as they were fetched, at the end.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import httpx

from .errors import ContentChangedError, SourceUnreadableError
from .http_request import Request, check_status, send, unreachable


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


class HttpDownload:
    """The bytes of one URL. `etag`: the version to insist on, from an earlier start of the same import."""

    def __init__(self, request: Request, *, sha256: str | None, etag: str | None, settings: HttpSettings) -> None:
        self.etag = etag
        self.gzipped = False
        self.field = request.field
        self._request = request
        self._sha256 = sha256
        self._settings = settings
        self._received = 0
        self._hash = hashlib.sha256()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes from the beginning.

        Raises `SourceUnreadableError`, and `ContentChangedError` when the server has another version by now.
        """
        failures = 0
        async with httpx.AsyncClient(timeout=self._settings.timeout(), follow_redirects=False) as client:
            while True:
                before = self._received
                try:
                    async with contextlib.aclosing(self._fetch(client)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    break
                except httpx.TransportError as error:
                    failures = 1 if self._received > before else failures + 1
                    if not self._received or failures > self._settings.retries:
                        raise unreachable(error, self._request) from None
                await asyncio.sleep(self._settings.retry_delay_seconds * 2 ** (failures - 1))
        self._check_sha256()

    async def _fetch(self, client: httpx.AsyncClient) -> AsyncGenerator[bytes, None]:
        """The bytes that are still missing, from one answer."""
        response = await send(client, self._request, self._conditions())
        try:
            self._check(response)
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
                    self._received += len(new)
                    self._hash.update(new)
                    yield new
            if skip:
                raise ContentChangedError("it is shorter now")
        finally:
            await response.aclose()

    def _conditions(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": "sendonce"}
        # If-Match and If-Range compare strongly, which a weak ETag never passes (RFC 9110 §8.8.3.2)
        if self.etag and not self.etag.startswith("W/"):
            if self._received:
                headers |= {"Range": f"bytes={self._received}-", "If-Range": self.etag}
            else:
                headers["If-Match"] = self.etag
        return headers

    def _check(self, response: httpx.Response) -> None:
        if response.status_code in {httpx.codes.PRECONDITION_FAILED, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE}:
            raise ContentChangedError(f"the server answers {response.status_code} for the version that was begun")
        check_status(response, self._request)
        etag = response.headers.get("etag")
        if self.etag and etag and etag.removeprefix("W/") != self.etag.removeprefix("W/"):
            raise ContentChangedError("its ETag is another one")
        partial = response.status_code == httpx.codes.PARTIAL_CONTENT
        if partial and not response.headers.get("content-range", "").startswith(f"bytes {self._received}-"):
            problem = f"{self._request.shown} answers with a part that was not asked for"
            raise SourceUnreadableError(self.field, problem, temporary=True)
        self.etag = self.etag or etag
        self.gzipped = response.headers.get("content-encoding", "").lower() in {"gzip", "x-gzip"}

    def _check_sha256(self) -> None:
        if self._sha256 and self._hash.hexdigest() != self._sha256:
            problem = f"{self._request.shown} has SHA-256 {self._hash.hexdigest()}, not the one the campaign names"
            raise SourceUnreadableError(self.field.rpartition(".")[0] + ".sha256", problem)

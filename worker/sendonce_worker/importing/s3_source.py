"""A list in an object store: bytes of one version of one object, whatever happens to the connection.

obstore signs and asks. The ETag of the first answer is pinned, and what is asked for later, from the beginning or,
after a cut, from an offset on, is asked for with If-Match: each object has a strong ETag. obstore is imported when it
is needed: no other source wants its 16 MB in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from sendonce_store.spec.s3_source import S3Source

from .errors import SourceUnreadableError
from .http_source import HttpSettings
from .s3_problems import S3_FIELD, explain

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import S3Config, S3Store

_CHUNK = 256 * 1024
_CONFIG = {"access_key_id": "accessKeyID", "secret_access_key": "secretAccessKey", "session_token": "sessionToken"}


def access_keys(secret: Mapping[str, str], source: S3Source) -> S3Config:
    """The keys of a credentials Secret under obstore's names. Raises `SourceUnreadableError`."""
    found = {name: secret[key] for name, key in _CONFIG.items() if secret.get(key)}
    missing = [key for name, key in _CONFIG.items() if name not in found and name != "session_token"]
    if missing and source.credentials_secret_ref:
        problem = f"Secret {source.credentials_secret_ref.name} has no key {missing[0]}, or it is empty"
        raise SourceUnreadableError(f"{S3_FIELD}.credentialsSecretRef", problem)
    return cast("S3Config", found)


class S3Download:
    """The bytes of one object. `etag`: the version to insist on, from an earlier start of the same import."""

    def __init__(
        self, source: S3Source, credentials: Mapping[str, str], *, etag: str | None, settings: HttpSettings
    ) -> None:
        self.field = S3_FIELD
        self.etag = etag
        self.gzipped = False
        self._source = source
        self._keys = access_keys(credentials, source)
        self._settings = settings
        self._received = 0
        self._size: int | None = None

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes from the beginning.

        Raises `SourceUnreadableError`, and `ContentChangedError` when there is another version by now.
        """
        failures = 0
        while self._size is None or self._received < self._size:
            before = self._received
            try:
                async with aclosing(self._fetch()) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except _refusals() as error:
                failures = 1 if self._received > before else failures + 1
                found = explain(str(error), self._source)
                if not self._may_go_on(found, failures):
                    raise found from None
                await asyncio.sleep(self._settings.retry_delay_seconds * 2 ** (failures - 1))

    def _may_go_on(self, found: Exception, failures: int) -> bool:
        """Whether a connection that broke off is taken up again here; one that never began is for the queue."""
        lost = isinstance(found, SourceUnreadableError) and found.temporary
        return lost and self._received > 0 and failures <= self._settings.retries

    async def _fetch(self) -> AsyncGenerator[bytes, None]:
        """The bytes that are still missing, from one answer."""
        import obstore  # noqa: PLC0415 # see above

        result = await obstore.get_async(self._store(), self._source.key, options=self._options())
        self._pin(result)
        async for chunk in result.stream(min_chunk_size=_CHUNK):
            self._received += len(chunk)
            yield bytes(chunk)

    def _options(self) -> GetOptions:
        options: GetOptions = {}
        if self.etag:
            options["if_match"] = self.etag
        if self._received:
            options["range"] = {"offset": self._received}
        return options

    def _pin(self, result: GetResult) -> None:
        etag = result.meta["e_tag"]
        if not etag:
            problem = "answers without an ETag, as no object store does; check the URL"
            raise SourceUnreadableError(f"{S3_FIELD}.endpointURL", problem)
        self.etag = self.etag or etag
        self._size = result.meta["size"]
        encoding = {str(key).lower(): str(value).lower() for key, value in result.attributes.items()}
        self.gzipped = encoding.get("content-encoding") in {"gzip", "x-gzip"}

    def _store(self) -> S3Store:
        from obstore.store import S3Store  # noqa: PLC0415 # see above

        source, seconds = self._source, self._settings
        config: S3Config = {"region": source.region, "virtual_hosted_style_request": False}
        if source.endpoint_url:
            config["endpoint"] = source.endpoint_url.rstrip("/")
        if not self._keys:
            config["skip_signature"] = True
        return S3Store(
            source.bucket,
            config={**config, **self._keys},
            client_options={
                "allow_http": (source.endpoint_url or "").startswith("http://"),
                "connect_timeout": timedelta(seconds=seconds.connect_seconds),
                "read_timeout": timedelta(seconds=seconds.read_seconds),
                # a list may take as long as it takes, as long as bytes come
                "timeout": timedelta(days=1),
                "user_agent": "sendonce",
            },
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=seconds.read_seconds)},
        )


def _refusals() -> tuple[type[Exception], ...]:
    from obstore.exceptions import BaseError  # noqa: PLC0415 # see above

    # what is not found is an exception of Python's own
    return (BaseError, FileNotFoundError)

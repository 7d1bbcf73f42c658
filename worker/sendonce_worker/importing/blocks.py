"""A source in, blocks of recipients out: the import as far as it needs no database.

    source (file, http, s3) → gunzip → lines → CSV or NDJSON records → recipients and refused rows → `Block`
                                     → a file on disk → Parquet rows ↗

Each block carries the `Position` behind it, so that the store can commit both together; an import that died opens the
source again, skips what was consumed while hashing it, and goes on there if the hash is the same. Inline recipients are
one block. A query is not read here: the store spools `read_rows` first, since a query that is asked again may answer
otherwise, and takes the spooled rows through `normalise_rows`.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from sendonce_store.recipients import Position
from sendonce_store.spec.recipients import Compression, HttpSource, InlineRecipient, RecipientFormat, Recipients
from sendonce_store.spec.s3_source import S3Source

from .addresses import channel_names
from .errors import ContentChangedError, SourceChangedError
from .faults import BadFieldError
from .gunzip import Gunzip
from .http_request import Request, shown_url
from .http_source import Expected, HttpDownload, HttpSettings
from .mounted import Files, MountedFile
from .parquet_import import ParquetImport
from .rows import Normaliser, Outcome, check_storable
from .s3_source import S3Download
from .stream import Block, Layout, StreamImport

_FIELD = "spec.recipients"
_DEFAULT_HTTP = HttpSettings()


class ByteSource(Protocol):
    """Bytes as they lie at the source. `etag` and `gzipped` (by the server) are known with the first chunk."""

    field: str
    gzipped: bool

    @property
    def etag(self) -> str | None:
        """The version that is read, where the source names it."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes from the beginning."""
        ...


async def open_import(
    recipients: Recipients,
    channels: Collection[str],
    files: Files,
    position: Position | None = None,
    *,
    http: HttpSettings = _DEFAULT_HTTP,
) -> AsyncGenerator[Block, None]:
    """The blocks of a source, from the beginning or from the position of an earlier block on.

    `recipients` is `spec.recipients` with any source but a query; `channels` are those of the campaign's messages.
    Close the iterator (`contextlib.aclosing`) when you leave it early. A list without records gives no block.
    Raises `ImportSourceError`; what was given out before stays good, but a `sha256` is only known to hold at the end.
    """
    names = channel_names(channels)
    if recipients.inline is not None:
        if position is None:
            yield _inline_block(recipients.inline, names)
        return
    source = _open(recipients, files, position, http)
    secret = recipients.secret_key_ref is not None
    layout = Layout(recipients.format or RecipientFormat.CSV, names, source.field, secret=secret)
    reader = (ParquetImport if layout.format is RecipientFormat.PARQUET else StreamImport)(
        layout, position, lambda: source.etag
    )
    try:
        async with (
            aclosing(_plain(source, gzip=recipients.compression is Compression.GZIP)) as pieces,
            aclosing(reader.blocks(pieces)) as blocks,
        ):
            async for block in blocks:
                yield block
    except ContentChangedError as error:
        raise SourceChangedError(source.field, reader.line, str(error)) from None


def normalise_rows(rows: Iterable[Mapping[str, object]], first_line: int, channels: Collection[str]) -> Outcome:
    """The recipients and refused rows among the rows of a query, which are numbered from `first_line` on."""
    return normalise_numbered(enumerate(rows, first_line), channels)


def normalise_numbered(rows: Iterable[tuple[int, Mapping[str, object]]], channels: Collection[str]) -> Outcome:
    """The recipients and refused rows among rows that have numbers of their own."""
    normaliser, outcome = Normaliser(channel_names(channels)), Outcome()
    for line, row in rows:
        try:
            check_storable(tuple(row), tuple(row.values()))
        except BadFieldError as error:
            outcome.rejected.append(normaliser.refuse(line, error))
        else:
            normaliser.mapping(line, row, outcome)
    return outcome


def _open(recipients: Recipients, files: Files, position: Position | None, settings: HttpSettings) -> ByteSource:
    if recipients.config_map_key_ref:
        field = f"{_FIELD}.configMapKeyRef"
        return MountedFile(files.config_map(recipients.config_map_key_ref, field), field)
    if recipients.secret_key_ref:
        field = f"{_FIELD}.secretKeyRef"
        return MountedFile(files.secret(recipients.secret_key_ref, field), field)
    if recipients.http:
        request = _request(recipients.http, files)
        etag, gzip = position.etag if position else None, recipients.compression is Compression.GZIP
        return HttpDownload(request, Expected(recipients.http.sha256, etag, gzip), settings)
    if recipients.s3:
        return _object(recipients.s3, files, position, settings)
    message = "the rows of a query come from the store's spool, through normalise_rows"
    raise ValueError(message)


def _request(spec: HttpSource, files: Files) -> Request:
    headers: Mapping[str, str] = {}
    if spec.headers_secret_ref:
        headers = files.secret_items(spec.headers_secret_ref, f"{_FIELD}.http.headersSecretRef")
    if spec.url_secret_key_ref:
        field, ref = f"{_FIELD}.http.urlSecretKeyRef", spec.url_secret_key_ref
        return Request(files.secret_text(ref, field), headers, field, f"the URL in Secret {ref.name}")
    return Request(spec.url or "", headers, f"{_FIELD}.http.url", shown_url(spec.url or ""))


def _object(spec: S3Source, files: Files, position: Position | None, settings: HttpSettings) -> S3Download:
    secret: Mapping[str, str] = {}
    if spec.credentials_secret_ref:
        secret = files.secret_items(spec.credentials_secret_ref, f"{_FIELD}.s3.credentialsSecretRef")
    return S3Download(spec, secret, etag=position.etag if position else None, settings=settings)


async def _plain(source: ByteSource, *, gzip: bool) -> AsyncGenerator[bytes, None]:
    """The uncompressed bytes. A file that is gzip and is served as gzip is expanded once: it is one layer in fact."""
    gunzip = Gunzip(source.field) if gzip else None
    async with aclosing(source.chunks()) as chunks:
        async for chunk in chunks:
            if source.gzipped and gunzip is None:
                gunzip = Gunzip(source.field)
            for piece in gunzip.feed(chunk) if gunzip else (chunk,):
                yield piece
                # a little gzip can be a lot of text, and the loop also renews leases
                await asyncio.sleep(0)
    if gunzip:
        gunzip.finish()


def _inline_block(inline: Sequence[InlineRecipient], channels: Collection[str]) -> Block:
    normaliser, outcome = Normaliser(channels), Outcome()
    for number, item in enumerate(inline, 1):
        _take_inline(number, item, normaliser, outcome)
    text = json.dumps([item.to_wire() for item in inline], sort_keys=True, ensure_ascii=True).encode()
    position = Position(len(inline), len(text), hashlib.sha256(text).hexdigest(), None)
    return Block(outcome.recipients, outcome.rejected, position, outcome.lines)


def _take_inline(number: int, item: InlineRecipient, normaliser: Normaliser, outcome: Outcome) -> None:
    columns = item.model_dump(exclude_none=True, exclude={"variables"})
    variables = dict(item.variables)
    try:
        check_storable((*columns, *variables), (*columns.values(), *variables.values()))
    except BadFieldError as error:
        outcome.rejected.append(normaliser.refuse(number, error))
        return
    one = Outcome()
    normaliser.mapping(number, columns, one)
    outcome.recipients += [recipient._replace(variables=variables) for recipient in one.recipients]
    outcome.rejected += one.rejected

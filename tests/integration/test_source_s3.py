"""Recipients from a real S3 server, which is cut off, has another version by now, and refuses."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web
from tests.sources.parquet_files import people
from tests.sources.s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, running

from sendonce_store.recipients import Position
from sendonce_store.spec.recipients import Recipients
from sendonce_worker.importing import (
    Block,
    Files,
    HttpSettings,
    SecretNotFoundError,
    SourceChangedError,
    SourceUnreadableError,
    open_import,
)

SETTINGS = HttpSettings(connect_seconds=5, read_seconds=5, retries=2, retry_delay_seconds=0.01)
LIST = b"email,name\n" + b"".join(b"p%d@example.com,Person %d\n" % (number, number) for number in range(60_000))
EVERY_LINE = list(range(2, 60_002))
KEY = "spring/readers & friends #1.csv"


@pytest.fixture
async def s3(tmp_path: Path) -> AsyncIterator[S3Server]:
    async with running(tmp_path / "s3") as server:
        await server.put(KEY, LIST)
        yield server


@pytest.fixture
def files(tmp_path: Path) -> Files:
    credentials(tmp_path, accessKeyID=ACCESS_KEY, secretAccessKey=SECRET_KEY)
    return Files(tmp_path)


def credentials(root: Path, **keys: str) -> None:
    folder = root / "secrets" / "keys"
    folder.mkdir(parents=True, exist_ok=True)
    for key, value in keys.items():
        (folder / key).write_text(value + "\n")


class Link:
    """A connection to the server that is cut after so many bytes of an answer, in the order of the connections."""

    def __init__(self, port: int, cuts: list[int]) -> None:
        self.cuts, self.connections, self._port = cuts, 0, port

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        left = self.cuts.pop(0) if self.cuts else 1 << 40
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        forward = asyncio.create_task(_pump(reader, back))
        with suppress(OSError):
            while left and (data := await there.read(min(left, 65536))):
                left -= len(data)
                writer.write(data)
                await writer.drain()
        forward.cancel()
        for end in (writer, back):
            end.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


def spec(url: str, *, compression: str = "None", form: str = "CSV", **given: Any) -> Recipients:
    source = {"bucket": BUCKET, "key": KEY, "endpointURL": url, "credentialsSecretRef": {"name": "keys"}} | given
    return Recipients.from_wire({"s3": source, "format": form, "compression": compression})


async def read(recipients: Recipients, files: Files, position: Position | None = None) -> list[Block]:
    async with aclosing(open_import(recipients, ["Email"], files, position, http=SETTINGS)) as blocks:
        return [block async for block in blocks]


def lines(blocks: list[Block]) -> list[int]:
    return [recipient.line for block in blocks for recipient in block.recipients]


async def test_an_object_is_read_and_a_resumed_import_goes_on_behind_what_it_had(s3: S3Server, files: Files) -> None:
    blocks = await read(spec(s3.url), files)
    assert lines(blocks) == EVERY_LINE
    assert all((block.position.etag or "").startswith('"') for block in blocks)
    rest = await read(spec(s3.url), files, blocks[2].position)
    assert lines(blocks[:3]) + lines(rest) == EVERY_LINE


async def test_a_compressed_object(s3: S3Server, files: Files) -> None:
    await s3.put("readers.csv.gz", gzip.compress(LIST))
    assert lines(await read(spec(s3.url, key="readers.csv.gz", compression="Gzip"), files)) == EVERY_LINE


async def test_a_parquet_object_that_is_cut_is_fetched_to_its_end_before_it_is_read(s3: S3Server, files: Files) -> None:
    body = people(20_000)
    await s3.put("readers.parquet", body)
    async with Link(s3.port, [len(body) // 2]).listening() as url:
        blocks = await read(spec(url, form="Parquet", key="readers.parquet"), files)
    assert lines(blocks) == list(range(1, 20_001))
    await s3.put("readers.parquet", people(20_001))
    with pytest.raises(SourceChangedError, match="since line 375 was read: the object store answers"):
        await read(spec(s3.url, form="Parquet", key="readers.parquet"), files, blocks[2].position)


async def test_a_connection_that_is_cut_is_taken_up_where_it_was(s3: S3Server, files: Files) -> None:
    link = Link(s3.port, [900_000, 600_000])
    async with link.listening() as url:
        assert lines(await read(spec(url), files)) == EVERY_LINE
    assert link.connections == 3


async def test_a_connection_that_is_cut_again_and_again_is_given_up_for_now(s3: S3Server, files: Files) -> None:
    async with Link(s3.port, [900_000, *[0] * 20]).listening() as url:
        with pytest.raises(SourceUnreadableError, match="the connection breaks off") as caught:
            await read(spec(url), files)
    assert caught.value.temporary


async def test_a_version_that_was_put_while_the_connection_was_cut_is_refused(s3: S3Server, files: Files) -> None:
    async with (
        Link(s3.port, [900_000]).listening() as url,
        aclosing(open_import(spec(url), ["Email"], files, http=SETTINGS)) as blocks,
    ):
        await anext(blocks)
        await s3.put(KEY, LIST.replace(b"p59999@", b"q59999@"))
        with pytest.raises(SourceChangedError, match=r"answers PreconditionFailed for the version that was begun"):
            _ = [block async for block in blocks]


async def test_another_version_is_refused_by_a_resumed_import(s3: S3Server, files: Files) -> None:
    position = (await read(spec(s3.url), files))[2].position
    await s3.put(KEY, LIST.replace(b"p17@", b"q17@"))
    with pytest.raises(SourceChangedError, match=rf"since line {position.line} was read: the object store answers"):
        await read(spec(s3.url), files, position)


async def test_an_empty_object_is_no_csv(s3: S3Server, files: Files) -> None:
    await s3.put("empty.csv", b"")
    with pytest.raises(SourceUnreadableError, match="is empty; a CSV source begins with a header"):
        await read(spec(s3.url, key="empty.csv"), files)


@pytest.mark.parametrize(
    ("given", "keys", "field", "problem"),
    [
        ({"key": "no.csv"}, {}, "key", r"has no such object \(NoSuchKey\)"),
        ({"bucket": "nobody"}, {}, "bucket", r"has no such bucket; check .* \(NoSuchBucket\)"),
        ({}, {"secretAccessKey": "geheimnis"}, "credentialsSecretRef", "refuses the credentials"),
        ({}, {"accessKeyID": "NOBODY"}, "credentialsSecretRef", "refuses the credentials"),
        ({}, {"secretAccessKey": ""}, "credentialsSecretRef", "Secret keys has no key secretAccessKey"),
        ({"region": "eu-west-1"}, {}, "region", "the bucket is in another region"),
        (
            {"credentialsSecretRef": None},
            {},
            None,
            r"not let us read the object \(.*\); name credentialsSecretRef",
        ),
    ],
)
async def test_a_refusal_names_the_field_and_no_secret(
    s3: S3Server, files: Files, given: dict[str, Any], keys: dict[str, str], field: str | None, problem: str
) -> None:
    credentials(files.root, **keys)
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        await read(spec(s3.url, **given), files)
    assert caught.value.field == ".".join(filter(None, ("spec.recipients.s3", field)))
    assert not caught.value.temporary
    assert not any(secret in str(caught.value) for secret in (ACCESS_KEY, SECRET_KEY, "geheimnis", "StringToSign"))


async def test_a_secret_that_is_not_mounted(files: Files) -> None:
    with pytest.raises(SecretNotFoundError, match=r"s3\.credentialsSecretRef: Secret none is not there"):
        await read(spec("http://127.0.0.1:1", credentialsSecretRef={"name": "none"}), files)


async def test_nobody_listening_may_pass(files: Files, unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    with pytest.raises(SourceUnreadableError, match=f"endpointURL: cannot connect to {url}") as caught:
        await read(spec(url), files)
    assert caught.value.temporary


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_authorities_of_ssl_cert_file_are_trusted_and_no_others(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="email\na@example.com\n", headers={"ETag": '"v1"'})

    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(page, tls) as port:
        if trusted:
            assert lines(await read(spec(f"https://127.0.0.1:{port}"), files)) == [2]
            return
        with pytest.raises(SourceUnreadableError, match="a certificate that is not trusted") as caught:
            await read(spec(f"https://127.0.0.1:{port}"), files)
        assert not caught.value.temporary


@asynccontextmanager
async def serving(
    page: Callable[[web.Request], Awaitable[web.Response]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    application = web.Application()
    application.router.add_get("/{path:.*}", page)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_web_page_is_no_object(files: Files, chunked: bool) -> None:
    async def page(_: web.Request) -> web.Response:
        response = web.Response(text="<html>Sign in", content_type="text/html")
        if chunked:
            response.enable_chunked_encoding()
        return response

    async with serving(page) as port:
        with pytest.raises(SourceUnreadableError, match=r"endpointURL: answers with.* object store.*; check") as caught:
            await read(spec(f"http://127.0.0.1:{port}"), files)
    assert not caught.value.temporary

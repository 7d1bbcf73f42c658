"""Recipients over HTTP, from a real server that redirects, breaks off, changes its mind and answers nonsense."""

import asyncio
import gzip
import hashlib
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from tests.sources.parquet_files import people

from sendonce_store.recipients import Position
from sendonce_store.spec.recipients import Recipients
from sendonce_worker.importing import (
    Block,
    Files,
    HttpSettings,
    MissingColumnError,
    SourceChangedError,
    SourceUnreadableError,
    open_import,
)

SETTINGS = HttpSettings(connect_seconds=5, read_seconds=5, retries=2, retry_delay_seconds=0.01)
LIST = b"email,name\n" + b"".join(b"p%d@example.com,Person %d\n" % (number, number) for number in range(20_000))


@dataclass
class FarEnd:
    """One file. `cuts`: after how many bytes of an answer the connection is cut, in the order of the answers."""

    url: str = ""
    body: bytes = LIST
    etag: str | None = '"v1"'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    on_request: Callable[[int], None] = lambda _: None
    # a part that was asked for has at most so many bytes
    longest_part: int = 1 << 30
    asked: list[dict[str, str]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.headers))
        self.on_request(len(self.asked))
        if "If-Match" in request.headers and request.headers["If-Match"] != self.etag:
            return web.Response(status=412)
        start = self._start(request)
        response = web.StreamResponse(status=206 if start else self.status, headers=self.headers)
        if self.etag:
            response.headers["ETag"] = self.etag
        rest = self.body[start:][: self.longest_part if start else None]
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{start + len(rest) - 1}/{len(self.body)}"
        response.content_length = len(rest)
        await response.prepare(request)
        cut = self.cuts.pop(0) if self.cuts else len(rest)
        await response.write(rest[:cut])
        if cut < len(rest):
            assert request.transport is not None
            request.transport.close()
        return response

    def _start(self, request: web.Request) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if not found or not self.ranges or request.headers.get("If-Range") != self.etag:
            return 0
        return int(found[1])


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., object]]:
    runners: list[web.AppRunner] = []

    async def start(handler: Callable[[web.Request], object], tls: ssl.SSLContext | None = None) -> str:
        app = web.Application()
        app.router.add_get("/{path:.*}", handler)  # type: ignore[arg-type]
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        runners.append(runner)
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        return f"{'https' if tls else 'http'}://127.0.0.1:{port}"

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def far_end(serve: Callable[..., object]) -> FarEnd:
    far_end = FarEnd()
    far_end.url = await serve(far_end.handle) + "/readers.csv"  # type: ignore[misc]
    return far_end


@pytest.fixture
async def serve_raw() -> AsyncIterator[Callable[[bytes], Awaitable[str]]]:
    """Start a server that answers each request with these bytes and closes the connection; the URL."""
    servers: list[asyncio.Server] = []

    async def start(answer: bytes) -> str:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        servers.append(await asyncio.start_server(handle, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}/readers.csv"

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def spec(url: str, *, compression: str = "None", form: str = "CSV", **http: object) -> Recipients:
    return Recipients.from_wire({"http": {"url": url, **http}, "format": form, "compression": compression})


async def read(recipients: Recipients, files: Files, position: Position | None = None) -> list[Block]:
    async with aclosing(open_import(recipients, ["Email"], files, position, http=SETTINGS)) as blocks:
        return [block async for block in blocks]


def lines(blocks: list[Block]) -> list[int]:
    return [recipient.line for block in blocks for recipient in block.recipients]


EVERY_LINE = list(range(2, 20_002))


async def test_a_list_is_read_without_compression_on_the_way_and_its_etag_is_pinned(
    far_end: FarEnd, files: Files
) -> None:
    blocks = await read(spec(far_end.url), files)
    assert lines(blocks) == EVERY_LINE
    assert {block.position.etag for block in blocks} == {'"v1"'}
    assert far_end.asked[0]["Accept-Encoding"] == "identity"


async def test_a_resumed_import_insists_on_the_same_version(far_end: FarEnd, files: Files) -> None:
    blocks = await read(spec(far_end.url), files)
    rest = await read(spec(far_end.url), files, blocks[2].position)
    assert lines(blocks[:3]) + lines(rest) == EVERY_LINE
    assert far_end.asked[1]["If-Match"] == '"v1"'


async def test_another_version_is_refused_at_once(far_end: FarEnd, files: Files) -> None:
    position = (await read(spec(far_end.url), files))[2].position
    far_end.etag = '"v2"'
    with pytest.raises(SourceChangedError, match=rf"since line {position.line} was read: the server answers 412"):
        await read(spec(far_end.url), files, position)


async def test_a_weak_etag_is_compared_but_not_asked_for(far_end: FarEnd, files: Files) -> None:
    far_end.etag = 'W/"v1"'
    blocks = await read(spec(far_end.url), files)
    rest = await read(spec(far_end.url), files, blocks[2].position)
    assert lines(blocks[:3]) + lines(rest) == EVERY_LINE
    assert "If-Match" not in far_end.asked[1]
    far_end.etag = 'W/"v2"'
    with pytest.raises(SourceChangedError, match="its ETag is another one"):
        await read(spec(far_end.url), files, blocks[2].position)


async def test_without_an_etag_other_bytes_are_found_by_their_hash(far_end: FarEnd, files: Files) -> None:
    far_end.etag = None
    position = (await read(spec(far_end.url), files))[2].position
    assert position.etag is None
    far_end.body = LIST.replace(b"p17@", b"q17@")
    with pytest.raises(SourceChangedError, match="reads otherwise now"):
        await read(spec(far_end.url), files, position)


async def test_a_connection_that_is_cut_is_taken_up_by_range(far_end: FarEnd, files: Files) -> None:
    far_end.cuts = [400_000, 100_000]
    assert lines(await read(spec(far_end.url), files)) == EVERY_LINE
    assert len(far_end.asked) == 3
    # how much arrives of an answer that is cut is for the network to say
    assert far_end.asked[1]["Range"].startswith("bytes=")
    assert far_end.asked[1]["If-Range"] == '"v1"'


@pytest.mark.parametrize("etag", [None, 'W/"v1"', '"v1"'])
async def test_a_server_without_ranges_sends_it_again_and_nobody_is_read_twice(
    far_end: FarEnd, files: Files, etag: str | None
) -> None:
    far_end.cuts, far_end.ranges, far_end.etag = [400_000, 500_000], False, etag
    assert lines(await read(spec(far_end.url), files)) == EVERY_LINE
    assert len(far_end.asked) == 3


async def test_a_list_that_changes_while_the_connection_is_cut_is_refused(far_end: FarEnd, files: Files) -> None:
    def change(number: int) -> None:
        if number == 2:
            far_end.body = LIST.replace(b"p17@", b"q17@")

    far_end.cuts, far_end.etag, far_end.on_request = [400_000], None, change
    with pytest.raises(SourceChangedError, match="reads otherwise now"):
        await read(spec(far_end.url), files)


async def test_a_new_version_while_the_connection_is_cut_is_refused(far_end: FarEnd, files: Files) -> None:
    def change(number: int) -> None:
        if number == 2:
            far_end.etag = '"v2"'

    far_end.cuts, far_end.on_request = [400_000], change
    with pytest.raises(SourceChangedError, match="its ETag is another one"):
        await read(spec(far_end.url), files)


async def test_a_part_that_is_shorter_than_was_asked_for_is_no_end(far_end: FarEnd, files: Files) -> None:
    far_end.cuts, far_end.longest_part = [400_000], 50_000
    assert lines(await read(spec(far_end.url), files)) == EVERY_LINE
    starts = [int(headers["Range"][6:-1]) for headers in far_end.asked[1:]]
    assert [later - earlier for earlier, later in pairwise(starts)] == [50_000] * (len(starts) - 1)
    assert len(starts) > 2


@pytest.mark.parametrize("ranges", [True, False])
async def test_a_list_that_grows_while_the_connection_is_cut_is_refused_though_it_begins_as_before(
    far_end: FarEnd, files: Files, ranges: bool
) -> None:
    def grow(number: int) -> None:
        if number == 2:
            far_end.body = LIST + b"eve@example.com,Eve\n"

    far_end.cuts, far_end.ranges, far_end.on_request = [400_000], ranges, grow
    far_end.etag = '"v1"' if ranges else None
    with pytest.raises(SourceChangedError, match="it had 617,791 bytes then and has 617,811 now"):
        await read(spec(far_end.url), files)


async def test_a_list_that_was_written_anew_behind_what_was_read_is_refused_by_its_last_modified(
    far_end: FarEnd, files: Files
) -> None:
    def rewrite(number: int) -> None:
        if number == 2:
            far_end.body = LIST.replace(b"p19999@", b"q19999@")
            far_end.headers = {"Last-Modified": "Tue, 03 Mar 2026 09:00:01 GMT"}

    far_end.headers = {"Last-Modified": "Tue, 03 Mar 2026 09:00:00 GMT"}
    far_end.cuts, far_end.etag, far_end.on_request = [400_000], None, rewrite
    with pytest.raises(SourceChangedError, match="its Last-Modified is another one"):
        await read(spec(far_end.url), files)


async def test_a_login_page_after_a_cut_is_no_rest_of_the_list(far_end: FarEnd, files: Files) -> None:
    def log_out(number: int) -> None:
        if number == 2:
            far_end.body, far_end.ranges, far_end.headers = b"<p>Sign in", False, {"Content-Type": "text/html"}

    far_end.cuts, far_end.on_request = [400_000], log_out
    with pytest.raises(SourceUnreadableError, match="answers an HTML page with status 200"):
        await read(spec(far_end.url), files)


@pytest.mark.parametrize("part", ["bytes 0-99/1000", "bytes 5-99/1000", "bytes */1000", ""])
async def test_a_part_that_nobody_asked_for_is_not_taken_for_the_list(far_end: FarEnd, files: Files, part: str) -> None:
    far_end.status, far_end.headers = 206, {"Content-Range": part} if part else {}
    with pytest.raises(SourceUnreadableError, match="a part that was not asked for"):
        await read(spec(far_end.url), files)


@pytest.fixture
async def endless(serve_raw: Callable[[bytes], Awaitable[str]]) -> str:
    """The URL of a list that ends where the connection does."""
    return await serve_raw(b"HTTP/1.0 200 OK\r\n\r\n" + LIST)


async def test_an_answer_whose_end_a_cut_would_look_like_is_refused(endless: str, files: Files) -> None:
    with pytest.raises(SourceUnreadableError, match=r"neither Content-Length nor chunks.*name its sha256") as caught:
        await read(spec(endless), files)
    assert not caught.value.temporary


async def test_an_answer_without_an_end_is_taken_where_the_sha256_tells_it(endless: str, files: Files) -> None:
    right = hashlib.sha256(LIST).hexdigest()
    assert lines(await read(spec(endless, sha256=right), files)) == EVERY_LINE


async def test_a_connection_that_is_cut_again_and_again_is_given_up_for_now(far_end: FarEnd, files: Files) -> None:
    far_end.cuts, far_end.ranges = [400_000, 0, 0, 0, 0], False
    with pytest.raises(SourceUnreadableError) as caught:
        await read(spec(far_end.url), files)
    assert caught.value.temporary
    # the first time and two retries
    assert len(far_end.asked) == 3


async def test_the_sha256_of_the_file_as_fetched_must_be_the_one_named(far_end: FarEnd, files: Files) -> None:
    far_end.body = gzip.compress(LIST)
    right = hashlib.sha256(far_end.body).hexdigest()
    blocks = await read(spec(far_end.url, compression="Gzip", sha256=right), files)
    assert lines(blocks) == EVERY_LINE
    far_end.cuts = [50_000]
    assert lines(await read(spec(far_end.url, compression="Gzip", sha256=right), files)) == EVERY_LINE
    rest = await read(spec(far_end.url, compression="Gzip", sha256=right), files, blocks[3].position)
    assert lines(blocks[:4]) + lines(rest) == EVERY_LINE
    with pytest.raises(SourceUnreadableError, match=rf"http\.sha256: .* has SHA-256 {right}, not the one"):
        await read(spec(far_end.url, compression="Gzip", sha256="0" * 64), files)


@pytest.mark.parametrize("compression", ["None", "Gzip"])
async def test_a_file_that_is_served_as_gzip_is_expanded_once(far_end: FarEnd, files: Files, compression: str) -> None:
    far_end.body, far_end.headers = gzip.compress(LIST), {"Content-Encoding": "gzip"}
    assert lines(await read(spec(far_end.url, compression=compression), files)) == EVERY_LINE


@pytest.mark.parametrize("cut", [True, False])
async def test_a_truncated_gzip_file_is_refused(far_end: FarEnd, files: Files, cut: bool) -> None:
    far_end.body = gzip.compress(LIST)[: -20 if cut else None]
    if cut:
        with pytest.raises(SourceUnreadableError, match="the gzip data ends too early"):
            await read(spec(far_end.url, compression="Gzip"), files)
    else:
        assert lines(await read(spec(far_end.url, compression="Gzip"), files)) == EVERY_LINE


@pytest.mark.parametrize(
    ("headers", "body", "problem"),
    [
        ({"Content-Type": "text/html; charset=utf-8"}, b"<p>Sign in", "answers an HTML page with status 200"),
        ({"Content-Type": "text/csv"}, b"<!doctype html><title>Sign in</title>", "is an HTML or XML page"),
        ({"Content-Encoding": "br"}, b"...", "answers with content-encoding br"),
    ],
)
async def test_an_answer_that_is_no_list_is_refused(
    far_end: FarEnd, files: Files, headers: dict[str, str], body: bytes, problem: str
) -> None:
    far_end.headers, far_end.body = headers, body
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        await read(spec(far_end.url), files)
    assert not caught.value.temporary


async def test_a_list_without_a_needed_column_is_refused(far_end: FarEnd, files: Files) -> None:
    far_end.body = b"mail\nann@example.com\n"
    with pytest.raises(MissingColumnError, match="has no column email"):
        await read(spec(far_end.url), files)


@pytest.mark.parametrize(
    ("status", "temporary"),
    [(404, False), (403, False), (401, False), (503, True), (429, True), (500, True), (204, False)],
)
async def test_another_status_is_refused_and_says_whether_it_may_pass(
    far_end: FarEnd, files: Files, status: int, temporary: bool
) -> None:
    far_end.status, far_end.body = status, b""
    with pytest.raises(SourceUnreadableError, match=f"answers {status}") as caught:
        await read(spec(far_end.url), files)
    assert caught.value.temporary is temporary


async def test_nobody_listening_may_pass(files: Files, unused_tcp_port: int) -> None:
    with pytest.raises(SourceUnreadableError, match="cannot connect to") as caught:
        await read(spec(f"http://127.0.0.1:{unused_tcp_port}/r.csv"), files)
    assert caught.value.temporary


async def test_a_name_that_does_not_resolve_may_pass(files: Files) -> None:
    with pytest.raises(SourceUnreadableError, match=r"cannot connect to http://nowhere\.invalid") as caught:
        await read(spec("http://nowhere.invalid/r.csv"), files)
    assert caught.value.temporary


async def test_a_server_that_does_not_answer_in_time_may_pass(files: Files, serve: Callable[..., object]) -> None:
    released = asyncio.Event()

    async def hang(request: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    url = await serve(hang)  # type: ignore[misc]
    settings = HttpSettings(read_seconds=0.2)
    try:
        with pytest.raises(SourceUnreadableError, match="does not answer in time") as caught:
            async with aclosing(open_import(spec(url), ["Email"], files, http=settings)) as blocks:
                await anext(blocks)
        assert caught.value.temporary
    finally:
        released.set()


async def test_a_certificate_that_is_not_trusted_is_named(files: Files, serve: Callable[..., object]) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    url = await serve(FarEnd().handle, tls)  # type: ignore[misc]
    with pytest.raises(SourceUnreadableError, match="shows a certificate that is not trusted") as caught:
        await read(spec(url), files)
    assert not caught.value.temporary


async def test_redirects_are_followed_but_a_secret_header_stays_with_its_origin(
    far_end: FarEnd, files: Files, serve: Callable[..., object]
) -> None:
    asked: list[dict[str, str]] = []

    async def redirect(request: web.Request) -> web.Response:
        asked.append(dict(request.headers))
        target = "/again" if request.path == "/" else far_end.url
        return web.Response(status=302, headers={"Location": target})

    url = await serve(redirect)  # type: ignore[misc]
    folder = files.root / "secrets" / "access"
    folder.mkdir(parents=True)
    (folder / "X-Api-Key").write_text("hunter2\n")
    (folder / "Authorization").write_text("Bearer hunter2")
    blocks = await read(spec(url + "/", headersSecretRef={"name": "access"}), files)
    assert lines(blocks) == EVERY_LINE
    assert [(headers["X-Api-Key"], headers["Authorization"]) for headers in asked] == [
        ("hunter2", "Bearer hunter2")
    ] * 2
    assert "hunter2" not in str(far_end.asked)


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/r.csv", "file:///etc/passwd"])
async def test_a_redirect_away_from_http_is_refused(files: Files, serve: Callable[..., object], location: str) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    url = await serve(redirect)  # type: ignore[misc]
    with pytest.raises(SourceUnreadableError, match="redirects to something that is no"):
        await read(spec(url), files)


async def test_a_redirect_in_a_circle_is_refused(files: Files, serve: Callable[..., object]) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/"})

    url = await serve(redirect)  # type: ignore[misc]
    with pytest.raises(SourceUnreadableError, match="redirects more than 5 times"):
        await read(spec(url), files)


async def test_a_redirect_from_https_to_http_is_refused(
    files: Files, serve: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"http://{request.host}/"})

    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    url = await serve(redirect, tls)  # type: ignore[misc]
    with pytest.raises(SourceUnreadableError, match="redirects from https to http"):
        await read(spec(url), files)


def put_url(files: Files, url: str) -> Recipients:
    folder = files.root / "secrets" / "spring-url"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "url").write_text(url + "\n")
    wire = {"http": {"urlSecretKeyRef": {"name": "spring-url", "key": "url"}}, "format": "CSV"}
    return Recipients.from_wire(wire)


async def test_a_presigned_url_stands_in_no_error_and_no_log(
    far_end: FarEnd, files: Files, caplog: pytest.LogCaptureFixture, unused_tcp_port: int
) -> None:
    caplog.set_level(logging.DEBUG)
    signed = "?X-Signature=hunter2"
    assert lines(await read(put_url(files, far_end.url + signed), files)) == EVERY_LINE
    far_end.status = 403
    nobody = f"http://127.0.0.1:{unused_tcp_port}/{signed}"
    for url in (far_end.url + signed, nobody, f"ftp://127.0.0.1/{signed}", "hunter2", f"http://[hunter2/{signed}"):
        with pytest.raises(SourceUnreadableError, match="urlSecretKeyRef") as caught:
            await read(put_url(files, url), files)
        assert "hunter2" not in str(caught.value)
    far_end.status = 404
    with pytest.raises(SourceUnreadableError) as caught:
        await read(spec(far_end.url.replace("http://", "http://ann:hunter2@") + signed), files)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("value", ["hunter2\nX: y", "hunter2é", "hunter2\x00"])
async def test_a_header_that_http_does_not_allow_is_refused_without_showing_it(
    far_end: FarEnd, files: Files, value: str
) -> None:
    folder = files.root / "secrets" / "access"
    folder.mkdir(parents=True)
    (folder / "X-Api-Key").write_text(value)
    with pytest.raises(SourceUnreadableError, match="a header from the Secret") as caught:
        await read(spec(far_end.url, headersSecretRef={"name": "access"}), files)
    assert "hunter2" not in str(caught.value)
    assert far_end.asked == []


async def test_a_parquet_file_that_is_cut_is_fetched_to_its_end_before_it_is_read(
    far_end: FarEnd, files: Files
) -> None:
    far_end.body = people(20_000)
    far_end.cuts = [len(far_end.body) // 2]
    wanted = spec(far_end.url, form="Parquet")
    blocks = await read(wanted, files)
    assert lines(blocks) == list(range(1, 20_001))
    assert [asked.get("Range") for asked in far_end.asked] == [None, f"bytes={len(far_end.body) // 2}-"]
    assert lines(await read(wanted, files, blocks[2].position)) == list(range(blocks[2].position.line + 1, 20_001))
    far_end.etag = '"v2"'
    with pytest.raises(SourceChangedError, match="answers 412 for the version that was begun"):
        await read(wanted, files, blocks[2].position)


async def test_a_parquet_file_of_another_sha256_gives_nobody(far_end: FarEnd, files: Files) -> None:
    far_end.body = people(10)
    async with aclosing(open_import(spec(far_end.url, form="Parquet", sha256="0" * 64), ["Email"], files)) as blocks:
        with pytest.raises(SourceUnreadableError, match="not the one the campaign names"):
            await anext(blocks)


async def test_a_compressed_parquet_file(far_end: FarEnd, files: Files) -> None:
    far_end.body = gzip.compress(people(10))
    assert lines(await read(spec(far_end.url, form="Parquet", compression="Gzip"), files)) == list(range(1, 11))

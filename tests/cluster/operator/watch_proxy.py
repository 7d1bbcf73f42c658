"""Between an operator and its API server: a proxy that keeps back what a watch shows, and breaks it off.

In: a cluster. Out: a kubeconfig that leads through the proxy, on the loopback interface, and levers on the watches that
go through it. Everything else passes as it is. The proxy has the credentials; its kubeconfig has none.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.cluster.reach import Cluster
from yarl import URL

LONGEST_LINE = 4 * 1024 * 1024


@dataclass(eq=False)
class Watch:
    """One watch that is under way. `broken`: the code of the error that ends it."""

    plural: str
    broken: asyncio.Future[int]


@dataclass
class WatchProxy:
    """The proxy, and what a test does to the watches."""

    kubeconfig: Path
    server: str
    session: aiohttp.ClientSession
    watches: set[Watch] = field(default_factory=set)
    kept_back: set[str] = field(default_factory=set)

    def keep_back(self, *plurals: str) -> None:
        """Let nothing more through of these watches, until they are broken off."""
        self.kept_back.update(plurals)

    def break_off(self, code: int, *plurals: str) -> int:
        """End these watches with an ERROR of this code, as an API server does; returns how many there were."""
        meant = [watch for watch in self.watches if watch.plural in plurals and not watch.broken.done()]
        self.kept_back.difference_update(plurals)
        for watch in meant:
            watch.broken.set_result(code)
        return len(meant)

    async def carry(self, request: web.Request) -> web.StreamResponse:
        """Carry one request there and its answer back."""
        headers = {name: request.headers[name] for name in ("Accept", "Content-Type") if name in request.headers}
        url, body = URL(self.server + request.raw_path, encoded=True), await request.read() or None
        async with self.session.request(request.method, url, headers=headers, data=body) as found:
            answer = web.StreamResponse(status=found.status, headers={"Content-Type": found.headers["Content-Type"]})
            answer.enable_chunked_encoding()
            # an operator that ends waits for no answer
            with suppress(ConnectionResetError):
                await self._answer(request, found, answer)
        return answer

    async def _answer(self, request: web.Request, found: aiohttp.ClientResponse, answer: web.StreamResponse) -> None:
        await answer.prepare(request)
        if request.query.get("watch") == "true":
            await self._watch(request.path.rpartition("/")[2], found.content, answer)
        else:
            await answer.write(await found.read())
        await answer.write_eof()

    async def _watch(self, plural: str, lines: aiohttp.StreamReader, answer: web.StreamResponse) -> None:
        watch = Watch(plural, asyncio.get_running_loop().create_future())
        self.watches.add(watch)
        line = asyncio.ensure_future(lines.readline())
        try:
            while True:
                either: set[asyncio.Future[Any]] = {line, watch.broken}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if watch.broken.done():
                    await answer.write(_error(watch.broken.result()))
                    return
                shown = line.result()
                if not shown:
                    return
                line = asyncio.ensure_future(lines.readline())
                if plural not in self.kept_back:
                    await answer.write(shown)
        finally:
            line.cancel()
            self.watches.discard(watch)


def _error(code: int) -> bytes:
    reason = {410: "Expired"}.get(code, "InternalError")
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return json.dumps({"type": "ERROR", "object": {**status, "message": "broken off"}}).encode() + b"\n"


def _tls(cluster: Cluster) -> tuple[str, ssl.SSLContext, dict[str, str]]:
    with cluster.client() as client:
        known = client.configuration
        context = ssl.create_default_context(cafile=known.ssl_ca_cert)
        if known.cert_file:
            context.load_cert_chain(known.cert_file, known.key_file)
        token = known.get_api_key_with_prefix("authorization")
        return str(known.host), context, {"Authorization": token} if token else {}


def _kubeconfig(port: int) -> str:
    cluster = {"name": "proxied", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "proxied", "context": {"cluster": "proxied", "user": "nobody"}}
    users = [{"name": "nobody", "user": {}}]
    known = {"clusters": [cluster], "contexts": [context], "users": users, "current-context": "proxied"}
    return json.dumps({"apiVersion": "v1", "kind": "Config", **known})


@asynccontextmanager
async def watch_proxy(cluster: Cluster, folder: Path) -> AsyncIterator[WatchProxy]:
    """Yield a proxy that listens on a port of its own."""
    server, context, headers = _tls(cluster)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    forever = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=forever, read_bufsize=LONGEST_LINE
    ) as session:
        proxy = WatchProxy(folder / "proxied.kubeconfig", server, session)
        application = web.Application(client_max_size=LONGEST_LINE)
        application.router.add_route("*", "/{path:.*}", proxy.carry)
        runner = web.AppRunner(application, shutdown_timeout=1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            proxy.kubeconfig.write_text(_kubeconfig(runner.addresses[0][1]), encoding="utf-8")
            yield proxy
        finally:
            await runner.cleanup()

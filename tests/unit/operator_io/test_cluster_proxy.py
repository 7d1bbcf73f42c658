"""The API server is called directly, as kopf's watches do: proxies of the environment are for far ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.cluster.kubectl.person import write_kubeconfig

from sendonce_operator.cluster import open_cluster


async def _answer(_: web.Request) -> web.Response:
    return web.json_response({"kind": "Namespace"})


async def test_a_proxy_of_the_environment_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/shop", _answer)
    async with TestServer(app) as server:
        at = {"server": str(server.make_url("")).rstrip("/")}
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", {"token": "t"}, at)
        async with open_cluster(kubeconfig) as cluster:
            assert await cluster.get("/api/v1/namespaces/shop") == {"kind": "Namespace"}

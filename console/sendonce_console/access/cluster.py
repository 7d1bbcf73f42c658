"""The API server over HTTP: paths and plain objects in, plain objects or its refusal out.

In a Pod: the service account, whose token is read for each call as it is renewed while a Pod runs. Elsewhere: the
current context of a kubeconfig, with a token or a certificate. What a viewer offers as a token never goes into the
`Authorization` of a call: it is only ever the subject of a review.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
import orjson
import yaml

from sendonce_console.web.problems import unavailable
from sendonce_store.environment import SettingsError

log = logging.getLogger(__name__)
Object = dict[str, Any]
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS = 10.0


class ApiRefusalError(Exception):
    """The API server said no; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        """`status` is that of HTTP."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is, and who we are to it."""

    url: str
    tls: ssl.SSLContext
    token: Callable[[], str | None]


def in_cluster(account: Path = ACCOUNT, env: Mapping[str, str] = os.environ) -> Endpoint:
    """The API server of the cluster that this Pod runs in. Raises SettingsError elsewhere."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (account / "token").exists():
        message = "KUBECONFIG is not set, and this is no Pod with a service account"
        raise SettingsError(message)
    host = f"[{host}]" if ":" in host else host
    tls = ssl.create_default_context(cafile=str(account / "ca.crt"))
    return Endpoint(f"https://{host}:{port}", tls, lambda: (account / "token").read_text("utf-8").strip())


def from_kubeconfig(path: Path) -> Endpoint:
    """The current context of a kubeconfig. Raises SettingsError."""
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
        context = _named(document["contexts"], document["current-context"])["context"]
        cluster = _named(document["clusters"], context["cluster"])["cluster"]
        user = _named(document["users"], context["user"])["user"]
        return Endpoint(str(cluster["server"]).rstrip("/"), _tls(cluster, user), lambda: user.get("token"))
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        message = f"KUBECONFIG: {path} can't be used: {error}"
        raise SettingsError(message) from error


def _named(entries: list[Object], name: str) -> Object:
    return next(entry for entry in [*entries, {"name": name}] if entry["name"] == name)


def _tls(cluster: Object, user: Object) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority")
    tls = ssl.create_default_context(cadata=None if authority is None else authority.decode())
    certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
    if certificate is not None and key is not None:
        # the library reads certificates from files only
        with tempfile.NamedTemporaryFile() as both:
            both.write(certificate + b"\n" + key)
            both.flush()
            tls.load_cert_chain(both.name)
    return tls


def _content(entry: Object, name: str) -> bytes | None:
    if given := entry.get(f"{name}-data"):
        return base64.b64decode(given)
    return Path(entry[name]).read_bytes() if entry.get(name) else None


class Cluster:
    """Calls to one API server, over connections that are kept."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Nothing is opened before the first call."""
        self._endpoint = endpoint
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str) -> Object:
        """Raises ApiRefusalError, or ProblemError when the API server can't be reached."""
        return await self._call("GET", path, None)

    async def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Raises as `get`."""
        return await self._call("POST", path, body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> Object:
        """Merge (RFC 7386). Raises as `get`."""
        return await self._call("PATCH", path, body)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Object:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Accept": "application/json", "Content-Type": kind}
        if token := self._endpoint.token():
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else orjson.dumps(body)
        url = self._endpoint.url + path
        try:
            async with self._opened().request(method, url, data=data, headers=headers) as answer:
                return _read(answer.status, await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("the API server can't be reached: %s", type(error).__name__)
            detail = "Who may see what can't be asked. Sending is not touched by it. Try again soon."
            raise unavailable("The API server", detail) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._endpoint.tls, limit=32)
            timeout = aiohttp.ClientTimeout(total=SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)
        return self._session


_REFUSED = 400


def _read(status: int, body: bytes) -> Object:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = {}
    if status >= _REFUSED:
        raise ApiRefusalError(status, str(found.get("message") or f"status {status}"))
    return cast("Object", found)


async def gather_bounded(calls: list[Callable[[], Any]], most: int = 16) -> list[Any]:
    """Run calls side by side, at most so many at once; the results in order."""
    slots = asyncio.Semaphore(most)

    async def one(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the call gives
        async with slots:
            return await call()

    return await asyncio.gather(*(one(call) for call in calls))

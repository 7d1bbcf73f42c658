"""Where the console is: an address that was given, or its Service in the cluster in; an address that answers out.

The API server's own proxy to Services is no way there: it takes the `Authorization` header for itself, and the console
would not know who asks. A port-forward leaves it alone, and goes through the API server's TLS.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from subprocess import Popen
from urllib.parse import urlsplit

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.kubectl import Kubectl, KubectlError, Object

__all__ = ["Choice", "checked_url", "is_loopback", "reach"]

LABELS = "app.kubernetes.io/part-of=sendonce,app.kubernetes.io/component=console"
SECONDS = 20.0
NAMED = "--console-url (SENDONCE_CONSOLE_URL) names its address"
_FORWARDED = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) ->")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person says of where the console is."""

    url: str | None
    namespace: str | None


@contextmanager
def reach(kubectl: Kubectl, choice: Choice) -> Iterator[str]:
    """Yield the console's address; a way to it is kept open meanwhile. Raises PluginError."""
    if choice.url:
        yield checked_url(choice.url)
        return
    service = _service(kubectl, choice.namespace)
    meta = service["metadata"]
    with _forward(kubectl.within(meta["namespace"]), meta["name"], _port(service)) as port:
        yield f"http://127.0.0.1:{port}"


def checked_url(url: str) -> str:
    """The address without a slash at its end. Raises PluginError for one to which no token may be sent."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise PluginError(f"--console-url: {url!r} is no address such as https://sendonce.example.com") from None
    if parts.scheme not in {"http", "https"} or not host or parts.username or parts.query or parts.fragment:
        raise PluginError(f"--console-url: {url!r} is no address such as https://sendonce.example.com")
    if parts.scheme == "http" and not is_loopback(host):
        raise PluginError(f"--console-url: {url}: your token would go there in clear; use https://")
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether it is this machine itself, named so that nobody can lead it elsewhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _service(kubectl: Kubectl, namespace: str | None) -> Object:
    where = [f"--namespace={namespace}"] if namespace else ["--all-namespaces"]
    try:
        found = kubectl.within("").json("get", "services", f"--selector={LABELS}", "--output=json", *where)["items"]
    except KubectlError as error:
        if error.code is not Exit.NO_RIGHT:
            raise
        hint = NAMED if namespace else f"{NAMED}; or --console-namespace says where to look"
        raise PluginError(f"the console can't be looked for: {error}. {hint}", Exit.NO_RIGHT) from None
    if not found:
        place = f"namespace {namespace}" if namespace else "this cluster"
        raise PluginError(
            f"the console is not installed in {place}, and what is about single people comes from it: "
            f"`helm upgrade … --set console.enabled=true` (docs/console.md); where it runs elsewhere, {NAMED}",
            Exit.NOT_FOUND,
        )
    if len(found) > 1:
        places = ", ".join(one["metadata"]["namespace"] for one in found)
        raise PluginError(f"there are {len(found)} consoles, in {places}: say which by --console-namespace")
    service: Object = found[0]
    return service


def _port(service: Object) -> int:
    """The port named `http`, else the first."""
    ports = service["spec"]["ports"]
    return int(next((one["port"] for one in ports if one.get("name") == "http"), ports[0]["port"]))


@contextmanager
def _forward(kubectl: Kubectl, service: str, port: int) -> Iterator[int]:
    with kubectl.process("port-forward", f"service/{service}", f":{port}", "--address=127.0.0.1") as process:
        yield _forwarded(process, service)


def _forwarded(process: Popen[str], service: str) -> int:
    end = time.monotonic() + SECONDS
    told = process.stdout
    while told is not None and select.select([told], [], [], max(0.0, end - time.monotonic()))[0]:
        line = told.readline()
        if found := _FORWARDED.search(line):
            return int(found[1])
        if not line:
            break
    process.terminate()
    words = process.stderr.read() if process.stderr else ""
    error = KubectlError(words or f"no Pod of service {service} answered within {SECONDS:g} s")
    raise PluginError(f"no way to the console: {error}; or {NAMED}", error.code)

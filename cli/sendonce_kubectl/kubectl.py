"""The API server, by way of kubectl: arguments or paths in, objects or an error in the server's own words out.

kubectl started this plugin, so it is there, and knows every way of signing in: certificates, tokens, exec plugins,
OIDC. A call costs its start, about 50 ms; importing a client library costs ten times that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.rights import missing_right

__all__ = ["Kubectl", "KubectlError", "Object"]

Object = dict[str, Any]
_SERVER_SAID = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<message>.*)", re.DOTALL)
# a connection that is upgraded (port-forward) brings no reason along
_FORBIDDEN = re.compile(r"is forbidden: User ")
_NO_KIND = re.compile(r"doesn't have a resource type|could not find the requested resource|no matches for kind")
_AWAY = re.compile(
    r"Unable to connect to the server|connection to the server \S+ was refused|ServiceUnavailable|i/o timeout|"
    r"connection refused|unexpected EOF|etcdserver|TooManyRequests|TLS handshake timeout",
)
_NOT_SIGNED_IN = re.compile(r"\(Unauthorized\)|must be logged in|getting credentials")


class KubectlError(PluginError):
    """kubectl failed. `reason`: the API server's (Forbidden, NotFound, AlreadyExists, …); empty where it gave none."""

    def __init__(self, words: str) -> None:
        """`words`: what kubectl printed."""
        found = _SERVER_SAID.search(words)
        self.reason = (found["reason"] or "") if found else ""
        self.message = (found["message"] if found else words).strip()
        problems, code = _explained(self.reason, self.message, words.strip())
        super().__init__(problems, code)

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return self.code is Exit.UNREACHABLE


def _explained(reason: str, message: str, words: str) -> tuple[str, Exit]:
    if reason == "Forbidden" or _FORBIDDEN.search(words):
        return missing_right(message), Exit.NO_RIGHT
    if _NOT_SIGNED_IN.search(words):
        return f"the API server does not know you: {message}", Exit.NO_RIGHT
    if _NO_KIND.search(words):
        return (
            "Sendonce is not installed in this cluster: it has no NotificationCampaign (docs/install.md)",
            Exit.NOT_FOUND,
        )
    if reason == "NotFound":
        return message, Exit.NOT_FOUND
    if _AWAY.search(words):
        return f"the API server can't be reached: {message}", Exit.UNREACHABLE
    return message or "kubectl failed without a word", Exit.BAD_INPUT


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the options that say which cluster, as whom, and where. An empty namespace: the context's."""

    program: str
    options: Sequence[str] = ()
    namespace: str = ""

    @classmethod
    def found(cls, options: Sequence[str] = (), namespace: str = "") -> Kubectl:
        """The kubectl that `KUBECTL` names, or that is on the path. Raises PluginError."""
        program = os.environ.get("KUBECTL") or shutil.which("kubectl")
        if not program:
            raise PluginError("kubectl is not on the PATH: install it, or name it by KUBECTL=/path/to/kubectl")
        return cls(program, tuple(options), namespace)

    def within(self, namespace: str) -> Kubectl:
        """The same, in this namespace."""
        return replace(self, namespace=namespace)

    def command(self, *arguments: str) -> list[str]:
        """What is run."""
        where = [f"--namespace={self.namespace}"] if self.namespace else []
        return [self.program, *arguments, *self.options, *where]

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Run it to its end, and return what it printed. Raises KubectlError."""
        try:
            done = subprocess.run(
                self.command(*arguments), input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                capture_output=True, check=False, text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except OSError as error:
            raise PluginError(
                f"{self.program}: {error.strerror}: KUBECTL must name a kubectl that can be run"
            ) from None
        if done.returncode != 0:
            raise KubectlError(done.stderr or done.stdout)
        return done.stdout

    def json(self, *arguments: str, stdin: str | None = None) -> Object:
        """Run it, and return the object that it printed. Raises KubectlError."""
        text = self.run(*arguments, stdin=stdin)
        try:
            found: Object = json.loads(text)
        except ValueError:
            raise KubectlError(f"kubectl {arguments[0]} printed no object: {text[:200]!r}") from None
        return found

    def get(self, path: str) -> Object:
        """The object at a path of the API. Raises KubectlError."""
        return self.json("get", "--raw", path)

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Create an object there; unknown fields are refused. Raises KubectlError."""
        return self.json("create", "--raw", path, "-f", "-", stdin=json.dumps(body))

    def who(self) -> str:
        """The name by which the API server knows the user; empty where it does not say."""
        try:
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            found = self.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
            return str(found["status"]["userInfo"]["username"])
        except (KubectlError, KeyError):
            return ""

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[Object]]:
        """The lines of a path that goes on, each an object. At its end comes KubectlError, or nothing more."""
        with self.process("get", "--raw", path) as process:
            yield _lines(process)

    @contextmanager
    def process(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A kubectl that runs beside this; it has ended when the context has."""
        process = subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            _closed(process.stdout)
            _closed(process.stderr)
            process.wait()


def _closed(stream: IO[str] | None) -> None:
    if stream is not None:
        stream.close()


def _lines(process: subprocess.Popen[str]) -> Iterator[Object]:
    for line in process.stdout or ():
        yield json.loads(line)
    words = process.stderr.read() if process.stderr else ""
    if process.wait() != 0:
        raise KubectlError(words)

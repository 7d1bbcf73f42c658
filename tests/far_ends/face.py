"""How a named far end behaves, as far as its own pages say: without a socket, so that tests and programs can serve it.

In: requests. Out: the answers of the real one: to good and bad credentials, to recipients that it takes and refuses,
to keys that it has seen. Every answer it can give besides is a `Case`, with what it must be taken for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qsl

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.errors import Kind

P, T, W, S, U = Kind.PERMANENT, Kind.TEMPORARY, Kind.RATE_LIMITED, Kind.ACCOUNT, Kind.UNKNOWN


class Request(Protocol):
    """What came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """One answer; a body that is no bytes is JSON."""

    status: int
    body: Any = b""
    headers: tuple[str, ...] = ()

    def encoded(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = [f"HTTP/1.1 {self.status} Whatever", f"Content-Length: {len(body)}", *self.headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Case:
    """An answer, and what it stands for. `wait` in seconds; None: the far end names none."""

    name: str
    reply: Reply
    kind: Kind
    code: str
    wait: float | None = None


@dataclass
class Face:
    """A far end. `port` is where it is served; `now` its clock in seconds, for keys."""

    port: int = 0
    now: float = 0.0
    taken: list[str] = field(default_factory=list)
    """What the recipients have got: the delivery ids, or the texts where the far end has no place for them."""

    type: ClassVar[str]
    channel: ClassVar[str]
    secrets: ClassVar[dict[str, str]]
    optional: ClassVar[frozenset[str]] = frozenset()
    bad_secrets: ClassVar[dict[str, dict[str, str]]]
    """Wrong, expired, revoked: Secrets that the far end refuses."""
    good_to: ClassVar[str]
    bad_to: ClassVar[str]
    content: ClassVar[dict[str, Any]] = {"html": None, "sender": None, "reply_to": None, "headers": ()}
    needs_sender: ClassVar[bool] = False
    too_long: ClassVar[dict[str, Any] | None] = None
    """A content above the far end's bounds."""
    cases: ClassVar[tuple[Case, ...]]
    repeats: ClassVar[tuple[Reply, ...]] = ()
    """Its answers to a key that it knows, where they are no first answer again."""
    per_recipient: ClassVar[bool] = False
    """Whether each recipient has an address on a host of its own."""

    def block(self) -> dict[str, Any]:
        return {"baseURL": f"http://127.0.0.1:{self.port}"}

    def spec(self, **fields: Any) -> ProviderSpec:
        name = self.type[:1].lower() + self.type[1:] if not self.type.isupper() else self.type.lower()
        wire = {"type": self.type, name: self.block(), "credentialsSecretRef": {"name": "s"}, "maxInFlight": 4}
        return ProviderSpec.from_wire(wire | fields)

    def secret(self) -> dict[str, bytes]:
        return {name: value.encode() for name, value in self.secrets.items()}

    def to(self) -> str:
        return self.good_to

    def refused_to(self) -> str:
        return self.bad_to

    def respond(self, request: Request) -> Reply:
        raise NotImplementedError

    def take(self, mark: str) -> int:
        self.taken.append(mark)
        return len(self.taken)


@dataclass
class KeyMemory:
    """Keys that were accepted: when, with what, and what was answered."""

    window: float = 86_400.0
    known: dict[str, tuple[float, bytes, Reply]] = field(default_factory=dict)

    def find(self, key: str, now: float) -> tuple[bytes, Reply] | None:
        at, body, reply = self.known.get(key, (0.0, b"", Reply(0)))
        return (body, reply) if reply.status and now - at < self.window else None


def path_of(request: Request) -> str:
    method, path, _ = request.line.split(" ")
    assert method == "POST"
    return path


def json_of(request: Request) -> Any:
    assert request.headers["Content-Type"].startswith("application/json")
    return json.loads(request.body)


def form_of(request: Request) -> dict[str, str]:
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    pairs = parse_qsl(request.body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)

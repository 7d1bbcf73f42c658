"""A console that stands in for the real one: answers by path in, an HTTP server on loopback that gives them out.

It knows one token, as the real one knows those that the API server vouches for, and keeps what it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token-of-mias"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Answer:
    """What is given: a status, a body, and further headers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, data: object, status: int = 200) -> Answer:
        return cls(status, json.dumps(data).encode(), {"Content-Type": "application/json"})

    @classmethod
    def problem(cls, status: int, title: str, detail: str) -> Answer:
        found = cls.json({"title": title, "detail": detail, "status": status}, status)
        return cls(status, found.body, {"Content-Type": PROBLEM})


@dataclass
class StandIn:
    """`answers`: path → what is given to each request in turn, the last one for ever. `asked`: path, query, body."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, list[str]], Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def give(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def answer(self, address: str, token: str, body: bytes) -> Answer:
        parts = urlsplit(address)
        self.asked.append((parts.path, parse_qs(parts.query), json.loads(body) if body else None))
        self.tokens.append(token)
        if token != f"Bearer {TOKEN}":
            return Answer.problem(401, "Not signed in", "the token has expired")
        waiting = self.answers.get(parts.path)
        if not waiting:
            return Answer.problem(404, "Not found", "there is no such campaign")
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """Serve for as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = console.answer(self.path, self.headers.get("Authorization", ""), body)
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing: `asked` has it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    console = StandIn(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield console
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

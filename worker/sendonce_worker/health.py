"""`/healthz`, `/readyz` and `/metrics`, on a thread of their own.

Flows in: what the worker's loop writes into `HealthState` (plain attributes: writing never waits). Flows out: answers
to Kubernetes' probes and to Prometheus. The thread only reads, so that a probe can neither hold up the loop nor be
held up by it: a loop that hangs is exactly what `/healthz` has to tell.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

__all__ = ["HealthServer", "HealthState", "Verdict"]

_logger = logging.getLogger(__name__)

_CLIENT_SECONDS = 5.0  # a client that sends or reads more slowly is dropped
_MAX_CLIENTS = 16
_POLL_SECONDS = 0.1  # how long closing may take at most
_PATHS = "/healthz, /readyz and /metrics"


class Verdict(NamedTuple):
    """An answer to a probe: whether all is well, and why in a few words."""

    ok: bool
    reason: str


class HealthState:
    """What the loop says about itself. Written by the loop, read by the server's thread."""

    __slots__ = ("_clock", "_last_beat", "claiming", "draining", "max_silence", "store_connected")

    def __init__(self, max_silence: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a first beat now. `max_silence`: seconds without a beat after which the loop counts as hung."""
        self._clock = clock
        self._last_beat = clock()
        self.max_silence = max_silence
        self.store_connected = False
        self.claiming = False
        self.draining = False

    def beat(self) -> None:
        """Say that the loop is turning. Call it on every turn; it costs a read of the clock."""
        self._last_beat = self._clock()

    def liveness(self) -> Verdict:
        """Judge whether the loop turns; if not, only a restart helps."""
        silence = self._clock() - self._last_beat
        if silence > self.max_silence:
            return Verdict(ok=False, reason=f"the loop has not turned for {silence:.1f} s (limit {self.max_silence} s)")
        return Verdict(ok=True, reason="the loop turns")

    def readiness(self) -> Verdict:
        """Judge whether this worker takes batches now."""
        live = self.liveness()
        if not live.ok:
            return live
        if self.draining:
            return Verdict(ok=False, reason="draining: no new batches, those in flight are being finished")
        if not self.store_connected:
            return Verdict(ok=False, reason="the store is not connected")
        if not self.claiming:
            return Verdict(ok=False, reason="not claiming batches yet")
        return Verdict(ok=True, reason="claiming batches")


class HealthServer:
    """Serves a `HealthState` and a registry over HTTP until it is closed."""

    def __init__(self, state: HealthState, registry: CollectorRegistry, host: str, port: int) -> None:
        """Bind the address; port 0 takes a free one. OSError names the address that cannot be used."""
        try:
            self._server = _Server(state, registry, host, port)
        except OSError as error:
            message = f"cannot listen on {host}:{port} for {_PATHS}: {error.strerror}; choose another host or port"
            raise OSError(error.errno, message) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="health", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the port, within a fraction of a second. Once closed, stays closed."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 2 * _MAX_CLIENTS  # the base's 5 makes the sixth client at once wait a second
    daemon_threads = True  # a client that hangs must not keep the process from ending

    def __init__(self, state: HealthState, registry: CollectorRegistry, host: str, port: int) -> None:
        self.state = state
        self.registry = registry
        self._room = threading.BoundedSemaphore(_MAX_CLIENTS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own looks up the host's name, which can wait for a resolver for seconds.
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as in socketserver
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as in socketserver
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002  # as in socketserver
        _logger.debug("a health request failed", exc_info=True)  # noqa: LOG014  # called inside its handler


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _CLIENT_SECONDS
    server_version = "sendonce"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/healthz":
            self._answer_verdict(self.server.state.liveness())
        elif path == "/readyz":
            self._answer_verdict(self.server.state.readiness())
        elif path == "/metrics":
            self._answer_metrics()
        else:
            self._answer(404, "text/plain; charset=utf-8", f"there are {_PATHS}\n".encode())

    do_HEAD = do_GET  # noqa: N815  # the base class looks for this name

    def _answer_verdict(self, verdict: Verdict) -> None:
        self._answer(200 if verdict.ok else 503, "text/plain; charset=utf-8", f"{verdict.reason}\n".encode())

    def _answer_metrics(self) -> None:
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        self._answer(200, content_type, encode(self.server.registry))

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        _logger.debug(format, *args)

"""A far end at work: ports, sessions and their end.

In: ``SimulatorSettings``. Out: a ``Simulator`` that serves HTTP, SMTP and its own ledger until it is
stopped. ``far_end`` decides; this module only brings connections to it and takes them away.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from sendonce_cli.simulate.admin import Admin
from sendonce_cli.simulate.behaviour import Behaviour, Outage
from sendonce_cli.simulate.control import read_order
from sendonce_cli.simulate.far_end import FarEnd
from sendonce_cli.simulate.http_front import HttpFront
from sendonce_cli.simulate.ledger import Ledger, LedgerWriter, end_torn_line
from sendonce_cli.simulate.settings import SimulatorSettings, SmtpTls
from sendonce_cli.simulate.smtp_session import SmtpSession
from sendonce_cli.simulate.smtp_wire import Wire
from sendonce_cli.simulate.sockets import Listener, Opener, reset


class Simulator:
    """A running far end; made by ``serve``."""

    def __init__(self, settings: SimulatorSettings) -> None:
        """Open the ledger and take the ports; raises ``SettingsError``, ``LedgerError``."""
        self.settings = settings
        self._tls = settings.tls()
        self._sessions: dict[asyncio.Task[None], SmtpSession] = {}
        with ExitStack() as undo:
            self._http = self._listener(undo, "http_port", self._serve_http)
            self._smtp = self._listener(undo, "smtp_port", self._serve_smtp)
            self._control = self._listener(undo, "control_port", self._serve_window)
            writer = _ledger_writer(settings)
            undo.callback(writer.close)
            self._far_end = FarEnd(settings, writer)
            if settings.append:
                self._far_end.remember(Ledger.read(settings.ledger))
            self._resources = undo.pop_all()
        self._front = HttpFront(self._far_end, settings)
        self._admin = Admin(settings.ledger, lambda: self._far_end.behaviour, self.control)
        self._web = web.Server(self._public, access_log=None, request_factory=self._request)
        self._window = web.Server(self._admin.answer, access_log=None)

    @property
    def http_port(self) -> int:
        """Port of hand-offs by HTTP; /ledger and /control are there as well."""
        return self._http.port

    @property
    def smtp_port(self) -> int:
        """Port of hand-offs by SMTP."""
        return self._smtp.port

    @property
    def control_port(self) -> int:
        """Port of /ledger and /control alone, open in every outage."""
        return self._control.port

    @property
    def ledger_path(self) -> Path:
        """The ledger's file."""
        return self.settings.ledger

    @property
    def behaviour(self) -> Behaviour:
        """What it does at present."""
        return self._far_end.behaviour

    @property
    def deciding(self) -> int:
        """How many hand-offs have been read and not been answered."""
        return self._far_end.deciding

    def ledger(self) -> Ledger:
        """Read the ledger as it stands."""
        return Ledger.read(self.settings.ledger)

    async def control(self, order: object) -> Behaviour:
        """Obey an order, the body of ``POST /control``; return the behaviour from now on.

        Raises ``SettingsError`` for an order that cannot be obeyed; nothing has changed then.
        """
        read = read_order(order, self._far_end.behaviour, self.settings.behaviour)
        self._far_end.obey(read)
        if read.behaviour.outage is Outage.REFUSE:
            self._refuse_connections()
        else:
            await self._http.open()
            await self._smtp.open()
        return read.behaviour

    async def start(self) -> None:
        """Serve from now on."""
        await self._control.open()
        if self.behaviour.outage is not Outage.REFUSE:
            await self._http.open()
            await self._smtp.open()

    async def stop(self) -> None:
        """Stop: take nothing new, finish what is being decided, close the ledger last."""
        for listener in (self._http, self._smtp, self._control):
            listener.close()
        for server in (self._web, self._window):
            server.pre_shutdown()
        for session in self._sessions.values():
            session.stop()
        await self._far_end.finish(self.settings.drain_seconds)
        await self._end_sessions()
        await asyncio.gather(self._web.shutdown(1), self._window.shutdown(1))
        self._resources.close()

    def _listener(self, undo: ExitStack, field: str, opener: Opener) -> Listener:
        listener = Listener(field, self.settings.host, getattr(self.settings, field), opener)
        undo.callback(listener.give_up)
        return listener

    async def _end_sessions(self) -> None:
        if self._sessions:
            # Answers of finished hand-offs are on their way; a session that still waits is cut.
            _, waiting = await asyncio.wait(list(self._sessions), timeout=1)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _refuse_connections(self) -> None:
        self._http.close()
        self._smtp.close()
        for connection in self._web.connections:
            if connection.transport is not None:
                reset(connection.transport)
        for session in self._sessions.values():
            session.cut()

    async def _public(self, request: web.BaseRequest) -> web.StreamResponse:
        if not self._admin.knows(request):
            return await self._front.hand_off(request)
        if request.path == "/control" and b'"refuse"' in await request.read():
            problem = f"order this on the control port {self.control_port}: this one goes away"
            return web.json_response({"field": "outage", "message": problem}, status=400)
        return await self._admin.answer(request)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        loop, size = asyncio.get_running_loop(), self.settings.max_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=size)

    def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = SmtpSession(Wire(reader, writer), self._far_end, self.settings, self._tls)
        task = asyncio.create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._sessions.pop)

    async def _serve_http(self, sock: socket.socket) -> asyncio.Server:
        context = self._tls if self.settings.https else None
        return await _serve(self._web, sock, context)

    async def _serve_window(self, sock: socket.socket) -> asyncio.Server:
        return await _serve(self._window, sock, None)

    async def _serve_smtp(self, sock: socket.socket) -> asyncio.Server:
        context = self._tls if self.settings.smtp_tls is SmtpTls.IMPLICIT else None
        return await asyncio.start_server(self._session, sock=sock, ssl=context, backlog=1024)


@asynccontextmanager
async def serve(settings: SimulatorSettings) -> AsyncIterator[Simulator]:
    """Run a far end inside the block; ports are bound when it begins, drained when it ends.

    Raises ``SettingsError`` for settings that cannot be used, ``LedgerError`` for a ledger to go on
    with that is not one.
    """
    simulator = Simulator(settings)
    await simulator.start()
    try:
        yield simulator
    finally:
        await simulator.stop()


def _ledger_writer(settings: SimulatorSettings) -> LedgerWriter:
    if settings.append:
        end_torn_line(settings.ledger)
    return LedgerWriter(settings.ledger, go_on=settings.append)


async def _serve(server: web.Server, sock: socket.socket, context: ssl.SSLContext | None) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(server, sock=sock, ssl=context, backlog=1024)

"""Our own far ends on uvloop, for where nginx and smtp-sink are not, and for the moments at which messages arrive.

In: a kind (http, mails, smtp), a port, and for http a file. Out: every message is accepted; with a file, the monotonic
second at which each of them came in, one a line, written when it ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import uvloop

_ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"id":"x"}'
_MAIL_TAKEN = b"HTTP/1.1 202 Accepted\r\nX-Message-Id: x\r\nContent-Length: 0\r\n\r\n"
_ITEM = b'{"ErrorCode":0,"Message":"OK","MessageID":"b7bc2f4a-e38e-4336-af7d-e6c392c2f817","To":"user@example.com"}'
_HELLO = b"250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n"


class Http(asyncio.Protocol):
    """Answers each request with 200; requests have a Content-Length."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        """`arrived` is called for each request."""
        self._arrived = arrived
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it to answer on."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._read += data
        while (head := self._read.find(b"\r\n\r\n")) >= 0:
            at = self._read.lower().find(b"content-length:")
            length = int(self._read[at + 15 : self._read.find(b"\r\n", at)])
            if len(self._read) < head + 4 + length:
                return
            request, self._read = self._read[: head + 4 + length], self._read[head + 4 + length :]
            self._arrived()
            self._transport.write(self.answer(request))

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a whole request."""
        del request
        return _ANSWER


class Mails(Http):
    """Answers as Postmark does to mails in a batch, and as SendGrid does to one."""

    def answer(self, request: bytes) -> bytes:
        """Accept every mail of the request."""
        if not request.startswith(b"POST /email/batch "):
            return _MAIL_TAKEN
        body = b"[%b]" % b",".join([_ITEM] * request.count(b'"To":'))
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Smtp(asyncio.Protocol):
    """Accepts every mail."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet."""
        self._transport = cast("asyncio.Transport", transport)
        self._read = b""
        self._in_mail = False
        self._transport.write(b"220 sink ESMTP\r\n")

    def data_received(self, data: bytes) -> None:
        """Answer each line, or the end of a mail."""
        self._read += data
        answers: list[bytes] = []
        while self._step(answers):
            pass
        self._transport.write(b"".join(answers))

    def _step(self, answers: list[bytes]) -> bool:
        mark = b"\r\n.\r\n" if self._in_mail else b"\r\n"
        end = self._read.find(mark)
        if end < 0:
            return False
        line, self._read = self._read[:end], self._read[end + len(mark) :]
        if self._in_mail:
            self._in_mail = False
            answers.append(b"250 2.0.0 Ok\r\n")
            return True
        verb = line[:4].upper()
        self._in_mail = verb == b"DATA"
        answers.append({b"EHLO": _HELLO, b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}.get(verb, b"250 Ok\r\n"))
        return True


async def serve(kind: str, port: int, file: Path | None) -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    moments: list[float] = []
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)

    def arrived() -> None:
        if file is not None:
            moments.append(time.monotonic())

    speaks = {"http": lambda: Http(arrived), "mails": lambda: Mails(arrived), "smtp": Smtp}
    server = await loop.create_server(speaks[kind], "127.0.0.1", port, backlog=1000)
    await stop.wait()
    server.close()
    if file is not None:
        file.write_text("".join(f"{moment:.6f}\n" for moment in moments), "utf-8")


def main() -> None:
    """`own_sink KIND PORT [FILE]`."""
    kind, port, *file = sys.argv[1:]
    if file:
        with suppress(PermissionError):
            os.nice(-15)  # a clock that has to wait for the CPU shows arrivals in heaps
    uvloop.run(serve(kind, int(port), Path(file[0]) if file else None))


if __name__ == "__main__":
    main()

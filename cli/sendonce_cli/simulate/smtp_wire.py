"""SMTP's lines and messages on one connection.

In: bytes of an asyncio stream. Out: command lines and whole messages, dots unstuffed; replies are
gathered while pipelined commands are left (RFC 2920, section 3.2) and sent in one piece.
"""

import asyncio
import ssl

_CHUNK = 65_536
_LINE_LIMIT = 16_384
"""Above the 512 and 1,000 octets of RFC 5321, section 4.5.3.1: AUTH and long addresses fit."""


class TooLongError(Exception):
    """A line or a message is longer than the limit; it has been read to its end and dropped."""


class Wire:
    """One connection. Reading raises ``ConnectionError`` once the other side has gone away."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._in = bytearray()
        self._out = bytearray()

    @property
    def pipelined(self) -> bool:
        """Whether bytes are waiting that were sent without waiting for a reply."""
        return bool(self._in)

    async def line(self) -> bytes:
        """Return the next command line without its end."""
        return (await self._until(b"\n", _LINE_LIMIT)).removesuffix(b"\r")

    async def message(self, limit: int) -> bytes:
        """Return the message up to the final dot, dots unstuffed (RFC 5321, section 4.5.2).

        Only CR LF . CR LF ends it: a bare line feed around the dot does not.
        """
        # The line end of the DATA command counts as the one before the final dot.
        self._in[:0] = b"\r\n"
        content = await self._until(b"\r\n.\r\n", limit + 2)
        return (content + b"\r\n").replace(b"\r\n.", b"\r\n")[2:]

    def reply(self, code: int, *texts: str) -> None:
        """Queue a reply, of several lines if there are several texts."""
        for text in texts[:-1]:
            self._out += f"{code}-{text}\r\n".encode()
        self._out += f"{code} {texts[-1]}\r\n".encode()

    def raw(self, content: bytes) -> None:
        """Queue bytes that are no reply."""
        self._out += content

    def send(self) -> None:
        """Send what is queued, without waiting; does nothing if the other side has gone away."""
        if self._out:
            self.writer.write(bytes(self._out))
            self._out.clear()

    def end(self) -> None:
        """Send what is queued and close the connection, without waiting for either."""
        self.send()
        self.writer.close()

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Send what is queued and go on inside TLS; raises ``ConnectionError`` if that fails."""
        self.send()
        try:
            await self.writer.start_tls(context)
        except (ssl.SSLError, OSError) as error:
            raise ConnectionAbortedError(str(error)) from error

    async def _until(self, end: bytes, limit: int) -> bytes:
        """Return what stands before ``end``; what is longer is read to its end and not kept."""
        start, kept = 0, True
        while (at := self._in.find(end, start)) < 0:
            start = max(0, len(self._in) - len(end) + 1)
            if start > limit:
                kept = False
            if not kept:
                del self._in[:start]
                start = 0
            await self._fill()
        found = bytes(self._in[:at])
        del self._in[: at + len(end)]
        if not kept or at > limit:
            raise TooLongError
        return found

    async def _fill(self) -> None:
        self.send()
        await self.writer.drain()
        chunk = await self._reader.read(_CHUNK)
        if not chunk:
            raise ConnectionAbortedError
        self._in += chunk

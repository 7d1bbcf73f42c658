"""Bare loops, each in a process of its own: what a client can do with no bookkeeping at all.

In: which loop, a port, seconds. Out: one JSON line with the messages sent in that time and the CPU seconds used. Every
loop has 50 in flight, is warmed up before the clock starts, and sends what a campaign sends: the same body, an
idempotency key, a subject and a text.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from email.message import EmailMessage

import aiohttp
import aiosmtplib
import uvloop
from pyreqwest.client import ClientBuilder

from sendonce_worker.providers.http1.client import Client
from sendonce_worker.providers.http1.target import parse_target

IN_FLIGHT = 50
WARM_UP_SECONDS = 1.0
SUBJECT = "Hello Name"
TEXT = "Hello Name, your order 12345 has left our warehouse."

Send = Callable[[str], Awaitable[None]]
Loop = Callable[[int, Callable[[Send], Awaitable[None]]], Awaitable[None]]


def body(key: str) -> dict[str, str]:
    """What the HTTP provider sends by default."""
    return {"to": "user123@example.com", "subject": SUBJECT, "text": TEXT, "key": key}


class Stopwatch:
    """Counts what ends between the end of the warm-up and the end of the time."""

    def __init__(self, seconds: float) -> None:
        """Starts with the warm-up."""
        self._begins = time.perf_counter() + WARM_UP_SECONDS
        self._ends = self._begins + seconds
        self._began = 0.0
        self._cpu = 0.0
        self.count = 0

    def ended(self) -> bool:
        """Whether the time is over; called before each message."""
        now = time.perf_counter()
        if not self._began and now >= self._begins:
            self._began, self._cpu, self.count = now, time.process_time(), 0
        return now >= self._ends

    def result(self) -> dict[str, float]:
        """Messages, seconds, CPU seconds."""
        seconds = time.perf_counter() - self._began
        return {"count": self.count, "seconds": seconds, "cpu": time.process_time() - self._cpu}


async def repeat(send: Send, watch: Stopwatch) -> None:
    """One of the messages in flight, again and again."""
    while not watch.ended():
        await send(str(uuid.uuid4()))
        watch.count += 1


async def fly(send: Send, watch: Stopwatch) -> None:
    """All of them."""
    await asyncio.gather(*(repeat(send, watch) for _ in range(IN_FLIGHT)))


async def with_aiohttp(port: int, watch: Stopwatch) -> None:
    """POST with aiohttp."""
    url = f"http://127.0.0.1:{port}/send"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def send(key: str) -> None:
            async with session.post(url, json=body(key), headers={"Idempotency-Key": key}) as answer:
                await answer.json()

        await fly(send, watch)


async def with_pyreqwest(port: int, watch: Stopwatch) -> None:
    """POST with pyreqwest."""
    url = f"http://127.0.0.1:{port}/send"
    async with ClientBuilder().build() as client:

        async def send(key: str) -> None:
            answer = await client.post(url).header("Idempotency-Key", key).body_json(body(key)).build().send()
            await answer.json()

        await fly(send, watch)


async def with_our_client(port: int, watch: Stopwatch) -> None:
    """POST with the HTTP client of the worker."""
    client = Client(parse_target(f"http://127.0.0.1:{port}/send"), None, limit=IN_FLIGHT, timeout=30.0)
    head = f"POST /send HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"

    async def send(key: str) -> None:
        text = json.dumps(body(key))
        request = f"{head}Idempotency-Key: {key}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
        json.loads((await client.exchange(request, lambda: None)).body)

    await fly(send, watch)
    await client.aclose()


async def with_aiosmtplib(port: int, watch: Stopwatch) -> None:
    """One EmailMessage built per mail, over as many connections as mails in flight."""

    async def session() -> None:
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False) as client:

            async def send(key: str) -> None:
                mail = EmailMessage()
                mail["From"] = "a@example.com"
                mail["To"] = "user123@example.com"
                mail["Subject"] = SUBJECT
                mail["Message-ID"] = f"<{key}@example.com>"
                mail.set_content(TEXT)
                await client.send_message(mail)

            await repeat(send, watch)

    await asyncio.gather(*(session() for _ in range(IN_FLIGHT)))


LOOPS = {
    "aiohttp": (with_aiohttp, asyncio.run),
    "aiohttp_uvloop": (with_aiohttp, uvloop.run),
    "pyreqwest": (with_pyreqwest, uvloop.run),
    "our_client": (with_our_client, uvloop.run),
    "aiosmtplib": (with_aiosmtplib, asyncio.run),
}


def main() -> None:
    """`baselines NAME PORT SECONDS`."""
    name, port, seconds = sys.argv[1:]
    loop, run = LOOPS[name]
    watch = Stopwatch(float(seconds))
    run(loop(int(port), watch))
    print(json.dumps(watch.result()))


if __name__ == "__main__":
    main()

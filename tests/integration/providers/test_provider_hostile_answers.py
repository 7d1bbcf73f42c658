"""Whatever a far end answers, nothing but the documented errors gets out of a provider."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import SendError
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.providers.conftest import FarEnd, HttpFarEnd, SmtpFarEnd


def clear() -> None:
    """Let everything through."""


def build(far_end: FarEnd, secrets: dict[str, bytes] | None = None, **settings: Any) -> HttpProvider:
    plain: dict[str, Any] = {"url": f"http://127.0.0.1:{far_end.port}/v1", "timeout": 5.0}
    return HttpProvider(HttpSettings(**(plain | settings)), secrets or {})


def mangled(good: bytes, chance: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randint(1, 9)]
            case 2:
                data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 9)))
            case _:
                data[at:at] = data[: chance.randint(1, len(data))]
        if not data:
            return b"?"
    return bytes(data)


async def outcome(provider: HttpProvider | SmtpProvider, message: Message) -> str:
    """Send once; anything but an acceptance and the documented errors fails the test, as does a logged bug."""
    try:
        await provider.send(message, clear)
    except SendError as error:
        if error.code == "internal_error":
            pytest.fail(f"a bug got out of the far end's answer: {error}")
        return error.kind
    return "Accepted"


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_http_answers_only_the_documented_errors_get_out(
    http_far_end: HttpFarEnd, http_answer: Callable[..., bytes], do: Any, message: Message, seed: int
) -> None:
    chance = random.Random(seed)
    provider = build(http_far_end, message_id_path="id", key_header="Idempotency-Key", key_window=60)
    good = [
        http_answer(200, b'{"id": "m-1"}', "Keep-Alive: timeout=5"),
        http_answer(429, b'{"code": 7, "message": "slow"}', "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n6\r\n: "a"}\r\n0\r\n\r\n',
    ]  # fmt: skip
    seen = set()
    for _ in range(150):
        http_far_end.calm()
        http_far_end.will(mangled(chance.choice(good), chance), chance.choice([do.CLOSE, do.RESET]))
        seen.add(await outcome(provider, message))
    assert {"Accepted", "Unknown"} <= seen


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_smtp_answers_only_the_documented_errors_get_out(
    smtp_far_end: SmtpFarEnd, do: Any, message: Message, seed: int
) -> None:
    chance = random.Random(seed)
    provider = SmtpProvider(SmtpSettings("127.0.0.1", smtp_far_end.port, "None", timeout=5, patience=5), {})
    good = [b"250 2.0.0 Ok\r\n", b"354 go ahead\r\n", b"250-PIPELINING\r\n250 SIZE 100\r\n", b"550 5.1.1 no\r\n"]
    seen = set()
    for _ in range(100):
        smtp_far_end.calm()
        verb = chance.choice(["GREETING", "EHLO", "MAIL", "RCPT", "DATA", "DOT"])
        smtp_far_end.will(verb, mangled(chance.choice(good), chance), chance.choice([do.CLOSE, do.RESET]))
        seen.add(await outcome(provider, message))
    assert {"Accepted", "Temporary", "Unknown"} & seen

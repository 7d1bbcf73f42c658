"""The manners of named far ends that the simulator has: the product's own providers understand them.

Several messages in one request are recorded as if each had come alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest
from tests.far_ends.email import PostmarkFace
from tests.far_ends.face import Face
from tests.far_ends.messaging import TwilioFace
from tests.far_ends.push import FcmFace
from tests.integration.providers.conftest import make_message

from sendonce_cli.simulate import Cause, Outcome, SimulatorSettings, Style, serve
from sendonce_worker.providers.base import Accepted, BatchProvider
from sendonce_worker.providers.errors import SendError
from sendonce_worker.providers.registry import build_provider

TWILIO, POSTMARK, FCM = (Style.TWILIO, TwilioFace), (Style.POSTMARK, PostmarkFace), (Style.FCM, FcmFace)


def settings(tmp_path: Path, style: Style, **more: object) -> SimulatorSettings:
    fields = ("to", "To", "message.token")
    return SimulatorSettings(ledger=tmp_path / "ledger.ndjson", style=style, to_fields=fields, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("style", "kind"), [TWILIO, POSTMARK, FCM], ids=["Twilio", "Postmark", "FCM"])
@pytest.mark.parametrize(
    ("fate", "ends"),
    [("ok+", "Accepted"), ("permanent+", "Permanent"), ("throttle+", "RateLimited"), ("account+", "Account")],
)
async def test_its_answers_are_those_of_the_real_one(
    tmp_path: Path, style: Style, kind: Callable[[int], Face], fate: str, ends: str
) -> None:
    async with serve(settings(tmp_path, style)) as far_end:
        face = kind(far_end.http_port)
        provider = build_provider(face.spec(), face.secret())
        message = make_message(**{**face.content, "channel": face.channel, "to": f"{fate}{face.to()}"})
        try:
            ended = type(await provider.send(message, lambda: None)).__name__
        except SendError as error:
            ended = str(error.kind)
        await provider.aclose()
    assert ended == ends


async def send_together(
    tmp_path: Path, people: Sequence[str], **more: object
) -> tuple[list[str], list[tuple[str, str]]]:
    """Hand mails off in a batch: what is told of each, and what the ledger has of them."""
    async with serve(settings(tmp_path, Style.POSTMARK, **more)) as far_end:
        face = PostmarkFace(far_end.http_port)
        provider = build_provider(face.spec(), face.secret())
        assert isinstance(provider, BatchProvider)
        mails = [make_message(**{**face.content, "to": to, "delivery_id": f"7-{no}"}) for no, to in enumerate(people)]
        answers = await provider.send_many(mails, lambda: None)
        await provider.aclose()
        rows = far_end.ledger().rows
    told = [
        str(one.kind) if isinstance(one, SendError) else str(isinstance(one, Accepted) and one.message_id)
        for one in answers
    ]
    assert {row.path for row in rows} == {"/email"}
    return told, [(row.to, str(row.outcome)) for row in rows]


async def test_a_batch_tells_of_each_mail_and_is_recorded_as_mails(tmp_path: Path) -> None:
    told, rows = await send_together(tmp_path, ["a@example.com", "permanent+b@example.com", "c@example.com"])
    assert told == ["http-1", "Permanent", "http-2"]
    assert rows == [
        ("a@example.com", "accepted"),
        ("permanent+b@example.com", "refused"),
        ("c@example.com", "accepted"),
    ]


@pytest.mark.parametrize(
    ("fate", "told", "outcome"),
    [
        ("throttle+", "RateLimited", "throttled"),
        ("transient+", "Temporary", "transient"),
        ("account+", "Account", "account"),
    ],
)
async def test_what_refuses_a_request_refuses_the_whole_batch(
    tmp_path: Path, fate: str, told: str, outcome: str
) -> None:
    ended, rows = await send_together(tmp_path, ["a@example.com", f"{fate}b@example.com", "permanent+c@example.com"])
    assert ended == [told] * 3
    assert [one for _, one in rows] == [outcome] * 3


@pytest.mark.parametrize("fate", ["lost+", "garbage+"])
async def test_one_lost_answer_is_lost_for_the_whole_batch_which_was_accepted(tmp_path: Path, fate: str) -> None:
    ended, rows = await send_together(tmp_path, ["a@example.com", f"{fate}b@example.com"])
    assert ended == ["Unknown"] * 2
    assert [one for _, one in rows] == ["accepted"] * 2


async def test_what_was_dropped_of_a_batch_is_recorded_so_and_no_answer_comes(tmp_path: Path) -> None:
    ended, rows = await send_together(tmp_path, ["a@example.com", "drop+b@example.com"])
    assert ended == ["Unknown"] * 2
    assert [one for _, one in rows] == ["accepted", "dropped"]


@pytest.mark.parametrize(
    ("body", "status", "cause"),
    [(b"[]", 400, Cause.MALFORMED), (b"{}", 400, Cause.MALFORMED), (b'[{"To": "a@b"}, {}]', 400, Cause.MALFORMED)],
)
async def test_a_batch_that_is_none_is_malformed(tmp_path: Path, body: bytes, status: int, cause: Cause) -> None:
    async with (
        serve(settings(tmp_path, Style.POSTMARK)) as far_end,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{far_end.http_port}") as client,
    ):
        answer = await client.post("/email/batch", content=body, headers={"Content-Type": "application/json"})
        rows = far_end.ledger().rows
    assert answer.status_code == status
    assert {(row.outcome, row.cause) for row in rows} == {(Outcome.REFUSED, cause)}


async def test_a_token_that_is_asked_for_refuses_a_batch_without_it(tmp_path: Path) -> None:
    told, rows = await send_together(tmp_path, ["a@example.com", "b@example.com"], token="another")
    assert told == ["Account"] * 2
    assert [one for _, one in rows] == ["account"] * 2

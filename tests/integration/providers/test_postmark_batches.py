"""Several mails in one request to Postmark: what becomes of each, and that none of them goes twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from tests.far_ends.email import PostmarkFace, postmark
from tests.far_ends.face import Reply

from sendonce_worker.providers.api.table import NOT_ITS_OWN
from sendonce_worker.providers.base import Accepted, BatchProvider, Message
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, SendError
from sendonce_worker.providers.registry import build_provider

if TYPE_CHECKING:
    from tests.integration.providers.conftest import HttpFarEnd

# what is of one far end does not depend on the loop, and what does is shown by the HTTP provider's tests
pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])
ROOM = 300
GOOD = {"ErrorCode": 0, "Message": "OK", "MessageID": "pm-x"}
INACTIVE = {"ErrorCode": 406, "Message": "marked as inactive"}


def clear() -> None:
    """Let everything through."""


class Desk:
    """Postmark with its manners, what talks to it, and mails for it."""

    def __init__(self, far_end: HttpFarEnd, make: Callable[..., Message]) -> None:
        self.face = PostmarkFace(far_end.port)
        self.far_end = far_end
        self.far_end.respond = self._respond
        self._make = make
        self.provider = self.build()

    def _respond(self, request: Any) -> bytes:
        try:
            return self.face.respond(request).encoded()
        except Exception as error:  # noqa: BLE001 - the test sees it in the words of the answer
            return Reply(599, f"the far end did not expect this: {error!r}".encode()).encoded()

    def build(self, **secrets: str) -> BatchProvider:
        given = self.face.secret() | {name: value.encode() for name, value in secrets.items()}
        built = build_provider(self.face.spec(maxInFlight=ROOM), given)
        assert isinstance(built, BatchProvider)
        return built

    def mails(self, count: int, **changes: dict[str, Any]) -> list[Message]:
        """So many mails; `m3={…}` changes the fourth."""
        return [self._mail(no, **changes.get(f"m{no}", {})) for no in range(count)]

    def _mail(self, no: int, **changes: Any) -> Message:
        own = {"to": f"reader{no}@example.com", "key": str(uuid.UUID(int=no)), "delivery_id": f"7-{no}"}
        return self._make(**(self.face.content | own | changes))

    async def send(self, mails: Sequence[Message]) -> Sequence[Accepted | Exception]:
        return await self.provider.send_many(mails, clear)

    @property
    def paths(self) -> list[str]:
        return [request.line.split(" ")[1] for request in self.far_end.requests]


@pytest.fixture
async def desk(http_far_end: HttpFarEnd, build_message: Callable[..., Message]) -> AsyncIterator[Desk]:
    made = Desk(http_far_end, build_message)
    yield made
    await made.provider.aclose()


def kinds(answers: Sequence[Accepted | Exception]) -> list[str]:
    """What each of them is, in a word."""
    return [str(one.kind) if isinstance(one, SendError) else type(one).__name__ for one in answers]


def batch_of(*items: object) -> bytes:
    return Reply(200, list(items)).encoded()


async def test_mails_travel_in_one_request_and_each_has_an_id_of_its_own(desk: Desk) -> None:
    answers = await desk.send(desk.mails(5))
    assert [one.message_id for one in answers if isinstance(one, Accepted)] == [f"pm-{no}" for no in range(1, 6)]
    assert desk.face.taken == [f"7-{no}" for no in range(5)]
    assert desk.paths == ["/email/batch"]


async def test_one_mail_goes_alone(desk: Desk) -> None:
    assert kinds(await desk.send(desk.mails(1))) == ["Accepted"]
    assert desk.paths == ["/email"]


async def test_who_is_refused_is_refused_alone_and_the_others_are_told_apart(desk: Desk) -> None:
    answers = await desk.send(desk.mails(4, m1={"to": desk.face.bad_to}))
    assert kinds(answers) == ["Accepted", "Permanent", "Accepted", "Accepted"]
    refusal = answers[1]
    assert isinstance(refusal, SendError)
    assert (refusal.code, "marked as inactive" in refusal.message) == ("406", True)
    assert desk.face.taken == ["7-0", "7-2", "7-3"]


async def test_what_is_wrong_with_one_mail_before_the_hand_off_keeps_only_that_one_back(desk: Desk) -> None:
    mails = desk.mails(5, m0=desk.face.too_long, m2={"text": "half \ud83d"}, m3={"sender": None})
    answers = await desk.send(mails)
    assert kinds(answers) == ["Permanent", "Accepted", "Permanent", "Account", "Accepted"]
    codes = [one.code for one in answers if isinstance(one, SendError)]
    assert codes == ["message_too_large", "not_encodable", "no_sender"]
    assert desk.face.taken == ["7-1", "7-4"]


async def test_nothing_is_asked_of_the_far_end_where_no_mail_can_go(desk: Desk) -> None:
    assert kinds(await desk.send(desk.mails(2, m0={"sender": None}, m1={"sender": None}))) == ["Account", "Account"]
    assert desk.paths == []


async def test_more_mails_than_one_request_takes_go_in_several(desk: Desk) -> None:
    count = desk.provider.batch_size + 20
    assert kinds(await desk.send(desk.mails(count))) == ["Accepted"] * count
    assert sorted(desk.face.batches) == [20, desk.provider.batch_size]
    assert sorted(desk.face.taken) == sorted(f"7-{no}" for no in range(count))


async def test_a_lost_or_broken_answer_is_unknown_for_every_mail_of_its_request(desk: Desk, do: Any) -> None:
    await desk.send(desk.mails(1))
    troubles: list[tuple[Any, ...]] = [
        (do.CLOSE,),
        (do.RESET,),
        (b"HTTP/1.1 200 OK\r\nContent-Le", do.RESET),
        (b"\x00\xffwhat is this\r\n\r\n",),
        (batch_of(GOOD, GOOD)[:-3], do.CLOSE),
        (Reply(200, b"[" + b" " * 2_000_000 + b"]").encoded(),),
        (Reply(500, b"").encoded(),),
        (Reply(503, b"busy").encoded(),),
    ]
    for steps in troubles:
        before = len(desk.far_end.requests)
        desk.far_end.will(*steps)
        assert kinds(await desk.send(desk.mails(2))) == ["Unknown", "Unknown"], steps
        assert len(desk.far_end.requests) == before + 1, "it is tried once"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome to the hotel</html>",
        b"null",
        b"[]",
        b"[" * 90_000,
        json.dumps([GOOD]).encode(),
        json.dumps([GOOD] * 3).encode(),
        json.dumps(GOOD).encode(),
        json.dumps(INACTIVE).encode(),
    ],
)
async def test_a_success_that_does_not_tell_of_each_mail_is_unknown_for_all(desk: Desk, body: bytes) -> None:
    for status in (200, 202):
        desk.far_end.will(Reply(status, body).encoded())
        answers = await desk.send(desk.mails(2))
        assert kinds(answers) == ["Unknown", "Unknown"]
        assert {one.message for one in answers if isinstance(one, SendError)} == {f"{status}: {NOT_ITS_OWN}"}
    assert len(desk.far_end.requests) == 2


async def test_an_entry_that_cannot_be_read_is_unknown_alone_and_tells_of_nobody_else(desk: Desk) -> None:
    entries: list[object] = [
        GOOD | {"To": "reader0@example.com"},
        None,
        [],
        "yes",
        {},
        {"ErrorCode": 0},
        {"ErrorCode": "\ud800"},
    ]
    desk.far_end.will(batch_of(*entries, INACTIVE))
    answers = await desk.send(desk.mails(len(entries) + 1))
    assert kinds(answers) == ["Accepted", *["Unknown"] * 5, "Unknown", "Permanent"]
    assert not [one for one in answers if isinstance(one, SendError) and "reader0" in one.message]


async def test_an_account_s_error_of_one_mail_is_the_account_s(desk: Desk) -> None:
    desk.far_end.will(batch_of(GOOD, {"ErrorCode": 405, "Message": "out of credits"}))
    assert kinds(await desk.send(desk.mails(2))) == ["Accepted", "Account"]


@pytest.mark.parametrize(
    ("reply", "kind", "wait"),
    [
        (postmark(401, 10, "no token"), "Account", None),
        (postmark(429, 429, "Rate limit exceeded", "Retry-After: 9"), "RateLimited", 9),
        (postmark(503, 100, "Offline for maintenance"), "Temporary", None),
    ],
)
async def test_a_refusal_of_the_whole_request_holds_for_every_mail(
    desk: Desk, reply: Reply, kind: str, wait: float | None
) -> None:
    desk.far_end.will(reply.encoded())
    answers = await desk.send(desk.mails(3))
    assert kinds(answers) == [kind] * 3
    assert {one.retry_after for one in answers if isinstance(one, SendError)} == {wait}
    assert (len(desk.far_end.requests), desk.face.taken) == (1, [])


@pytest.mark.parametrize("status", [413, 422])
async def test_a_batch_that_is_refused_with_nobody_at_fault_is_handed_off_mail_by_mail(desk: Desk, status: int) -> None:
    desk.far_end.will(postmark(status, 402, "Received invalid JSON input.").encoded())
    answers = await desk.send(desk.mails(3, m1={"to": desk.face.bad_to}))
    assert kinds(answers) == ["Accepted", "Permanent", "Accepted"]
    assert sorted(desk.paths) == ["/email", "/email", "/email", "/email/batch"]
    assert sorted(desk.face.taken) == ["7-0", "7-2"]


async def test_bad_credentials_stop_the_campaign_and_stay_secret(desk: Desk) -> None:
    provider = desk.build(serverToken="wrong-server-token")
    desk.far_end.will(postmark(401, 10, "wrong-server-token is not valid").encoded())
    desk.far_end.will(batch_of({"ErrorCode": 10, "Message": "wrong-server-token is not valid"}, GOOD))
    for kind in ("Account", "Accepted"):
        answers = await provider.send_many(desk.mails(2), clear)
        assert kinds(answers) == ["Account", kind]
        assert not [one for one in answers if "wrong-server-token" in str(one)]
    await provider.aclose()


async def test_a_clearance_that_refuses_leaves_nothing_on_the_wire(desk: Desk) -> None:
    def refuse() -> None:
        raise HandOffRefusedError("the lease is short")

    answers = await desk.provider.send_many(desk.mails(3), refuse)
    assert kinds(answers) == ["HandOffRefusedError"] * 3
    assert desk.paths == []


async def test_the_clearance_is_asked_again_before_mails_go_one_by_one(desk: Desk) -> None:
    asked: list[int] = []

    def once() -> None:
        asked.append(len(desk.far_end.requests))
        if len(asked) > 1:
            raise HandOffRefusedError("the worker is stopping")

    desk.far_end.will(postmark(422, 402, "Received invalid JSON input.").encoded())
    answers = await desk.provider.send_many(desk.mails(3), once)
    assert kinds(answers) == ["HandOffRefusedError"] * 3
    assert (desk.paths, desk.face.taken) == (["/email/batch"], [])
    assert asked[0] == 0, "asked before the first byte"


async def test_a_far_end_that_is_away_took_nothing(desk: Desk, unused_port: int) -> None:
    desk.face.port = unused_port
    answers = await desk.build().send_many(desk.mails(3), clear)
    assert kinds(answers) == ["Temporary"] * 3
    assert all(isinstance(one, SendError) and one.is_outage for one in answers)


async def test_mails_are_the_same_bytes_alone_and_in_a_batch(desk: Desk) -> None:
    await desk.send(desk.mails(2))
    await desk.send(desk.mails(1))
    together, alone = desk.far_end.requests
    assert json.loads(together.body)[0] == json.loads(alone.body)
    assert Kind.UNKNOWN not in kinds(await desk.send(desk.mails(2)))

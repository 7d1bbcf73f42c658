"""What HTTP answers are taken for."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import Kind, SendError
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.statuses import default_verdict
from sendonce_worker.providers.http1.waits import retry_after
from sendonce_worker.providers.http_api.answers import Answers, compile_rule
from sendonce_worker.providers.http_api.reading import MessageIdPath, words_of

P, T, R, A, U = Kind.PERMANENT, Kind.TEMPORARY, Kind.RATE_LIMITED, Kind.ACCOUNT, Kind.UNKNOWN


def answer(status: int, body: object = b"", *headers: tuple[bytes, bytes], complete: bool = True) -> Answer:
    return Answer(status, list(headers), body if isinstance(body, bytes) else json.dumps(body).encode(), complete)


def error(answers: Answers, given: Answer) -> SendError:
    judged = answers.judge(given)
    assert isinstance(judged, SendError)
    return judged


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        *[(status, "Accepted") for status in (200, 201, 202, 204)],
        *[(status, P) for status in (400, 404, 410, 413, 422)],
        *[(status, A) for status in (301, 302, 307, 308, 401, 402, 403, 405, 415, 501)],
        *[(status, U) for status in (408, 409, 500, 502, 503, 504, 520, 599, 999, 0)],
        (429, R),
        (425, T),
    ],
)
def test_a_status_by_itself(status: int, verdict: str) -> None:
    assert default_verdict(status) == verdict


def test_the_first_matching_rule_of_the_provider_wins() -> None:
    rules = [
        compile_rule(503, "warming_up", "Transient"),
        compile_rule(503, None, "RateLimited"),
        compile_rule(409, "already_accepted", "AlreadyAccepted"),
        compile_rule(None, "21211", "Permanent"),
        compile_rule(None, "ok=false", "Account"),
    ]
    answers = Answers(rules, None)
    assert error(answers, answer(503, {"error": "warming_up"})).kind is T
    assert error(answers, answer(503)).kind is R
    assert answers.judge(answer(409, {"code": "already_accepted"})) == Accepted(None, "409")
    assert error(answers, answer(409, {"code": "key_in_use"})).kind is U
    assert error(answers, answer(200, {"code": 21211})).kind is P
    assert error(answers, answer(200, {"code": 21211})).code == "21211"
    assert error(answers, answer(200, {"ok": False, "error": "invalid_auth"})).kind is A
    assert isinstance(answers.judge(answer(200, {"ok": True, "id": 212110})), Accepted)


def test_a_key_in_use_is_unknown_also_for_a_provider_without_keys() -> None:
    assert error(Answers([], None), answer(409, {"message": "key in use"})).kind is U


def test_a_success_without_the_id_that_was_promised_is_unknown() -> None:
    answers = Answers([], "data.id")
    assert answers.judge(answer(200, {"data": {"id": "a"}})) == Accepted("a", "200")
    assert error(answers, answer(200, b"<html>Please log in</html>")).code == "no_message_id"
    assert error(answers, answer(200, {"data": None})).kind is U


def test_a_success_that_was_cut_is_unknown_and_a_refusal_stays_a_refusal() -> None:
    assert error(Answers([], None), answer(200, b"x", complete=False)).code == "answer_cut"
    assert error(Answers([], None), answer(422, b"x", complete=False)).kind is P


@pytest.mark.parametrize(
    ("path", "body", "found"),
    [
        ("id", {"id": "a"}, "a"),
        ("id", {"id": 7}, "7"),
        ("messages.0.message-id", {"messages": [{"message-id": "a"}]}, "a"),
        ("sentMessages[0].id", {"sentMessages": [{"id": "a"}]}, "a"),
        ("$.a.b", {"a": {"b": "c"}}, "c"),
        ("[0].id", [{"id": "a"}], "a"),
        ("id", {"id": True}, None),
        ("id", {"id": {"x": 1}}, None),
        ("id", {"id": ""}, None),
        ("a.9", {"a": []}, None),
        ("id", [], None),
    ],
)
def test_where_the_message_id_stands(path: str, body: object, found: str | None) -> None:
    assert MessageIdPath(path).find(answer(200, body)) == found


def test_the_message_id_may_stand_in_a_header() -> None:
    assert MessageIdPath("header:X-Message-Id").find(answer(202, b"", (b"x-message-ID", b"abc"))) == "abc"
    assert MessageIdPath("header:X-Message-Id").find(answer(202)) is None


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"code": 21211, "message": "invalid To"}, "21211", "400 invalid To"),
        ({"error": {"code": "E1", "message": "no"}}, "E1", "400 no"),
        ({"errors": [{"message": "bad to", "field": "to"}]}, "400", "400 bad to"),
        ({"ok": False, "error": "channel_not_found"}, "400", "400 channel_not_found"),
        ({"ErrorCode": 406, "Message": "inactive"}, "406", "400 inactive"),
        (b"plain\r\n words", "400", "400 plain words"),
        (b"", "400", "400"),
        (b"\xff\xfe", "400", "400 ��"),
    ],
)
def test_the_far_ends_own_code_and_words_are_kept(body: object, code: str, message: str) -> None:
    words = words_of(answer(400, body))
    assert (words.code, words.message) == (code, message)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"92", 92),
        (b" 1.5 ", 1.5),
        (b"Tue, 01 Dec 2026 09:31:32 GMT", 92),
        (b"Tue, 01 Dec 2026 09:00:00 GMT", 0),
        (b"999999999", 604800),
        (b"-5", None),
        (b"soon", None),
        (b"Tue, 99 Dec 2026", None),
        (b"", None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(value: bytes, seconds: float | None) -> None:
    now = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
    assert retry_after(answer(429, b"", (b"Retry-After", value)), now) == seconds


@given(st.integers(0, 999), st.binary(max_size=200), st.binary(max_size=40))
def test_no_answer_makes_the_judge_fail(status: int, body: bytes, wait: bytes) -> None:
    rules = [compile_rule(200, "ok=false", "Permanent"), compile_rule(None, "(x", "Transient")]
    judged = Answers(rules, "a.0.b").judge(answer(status, body, (b"retry-after", wait)))
    assert isinstance(judged, (Accepted, SendError))


def test_deeply_nested_json_is_just_words() -> None:
    assert error(Answers([], None), answer(422, b"[" * 100_000)).kind is P

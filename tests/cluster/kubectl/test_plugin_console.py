"""What is about single people, from a console: asked with a person's own token, shown, and refused in plain words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.cluster.kubectl.person import Person, write_kubeconfig
from tests.cluster.kubectl.stand_in import TOKEN, Answer, StandIn, standing_in
from tests.cluster.reach import kubectl_program

pytestmark = [
    pytest.mark.wiring,
    pytest.mark.skipif(shutil.which(kubectl_program()) is None, reason="kubectl is not installed"),
]
SPRING = "/api/v1/namespaces/shop/campaigns/spring"
LINE = {
    "recipient": "c1", "channel": "Email", "address": "m***@example.com", "state": "failed", "reason": "permanent",
    "code": "5.1.1", "message": "no such\x1b[2J user", "attempts": 2, "updated": "2026-12-01T10:00:00Z",
    "provider": "smtp", "messageId": None,
}  # fmt: skip
PROOF = {
    "kind": "sendonce.dev/proof/v1", "holds": True,
    "campaign": {"sendKey": "spring", "reason": "AllSent", "message": ""},
    "people": {"total": 3, "rowsRead": 3, "rejected": 0}, "duplicates": {"count": 0, "uncertain": 0}, "sums": [],
    "channels": [], "deliveries": {"channel": "all", "total": 3, "states": {"sent": 3}}, "unknown": [],
    "digest": "sha256:ab",
}  # fmt: skip


@pytest.fixture
def console() -> Iterator[StandIn]:
    with standing_in() as console:
        yield console


@pytest.fixture
def mia(console: StandIn, tmp_path: Path) -> Person:
    """Signed in by a token, in the namespace shop; there is no API server."""
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", {"token": TOKEN}, {"server": "https://127.0.0.1:9"})
    return Person(kubeconfig, {"SENDONCE_CONSOLE_URL": console.url})


def test_recipients_come_page_by_page_also_over_empty_ones(console: StandIn, mia: Person) -> None:
    page = {"items": [LINE], "next": "1-1"}
    console.give(
        f"{SPRING}/recipients", *map(Answer.json, (page, {"items": [], "next": "2-0"}, {"items": [LINE], "next": None}))
    )
    ran = mia.run("recipients", "spring", "--state", "failed", "--state", "uncertain", "--reason", "RetriesExhausted")
    assert (ran.code, ran.err) == (0, "")
    head, *lines = ran.out.splitlines()
    assert head.split() == ["RECIPIENT", "CHANNEL", "ADDRESS", "STATE", "REASON", "CODE", "ATTEMPTS", "UPDATED"]
    assert [line.split()[:6] for line in lines] == [
        ["c1", "Email", "m***@example.com", "failed", "permanent", "5.1.1"]
    ] * 2
    queries = [query for _, query, _ in console.asked]
    assert queries[0] == {"state": ["failed", "uncertain"], "reason": ["retries_exhausted"], "limit": ["100"]}
    assert [query.get("after") for query in queries] == [None, ["1-1"], ["2-0"]]
    assert set(console.tokens) == {f"Bearer {TOKEN}"}


def test_a_list_that_goes_on_says_where(console: StandIn, mia: Person) -> None:
    console.give(f"{SPRING}/recipients", Answer.json({"items": [LINE], "next": "1-1"}))
    ran = mia.run("recipients", "spring", "--limit", "1", "-o", "wide")
    assert "there is more: --after 1-1" in ran.err
    assert "\x1b" not in ran.out
    assert "no such\ufffd[2J user" in ran.out
    assert mia.run("recipients", "spring", "--limit", "1", "-o", "json").data == {"items": [LINE], "next": "1-1"}
    assert yaml.safe_load(mia.run("recipients", "spring", "--limit", "1", "-o", "yaml").out)["items"] == [LINE]


def test_a_person_is_shown_with_each_attempt_and_the_content(console: StandIn, mia: Person) -> None:
    attempt = {
        "seq": 1,
        "at": "2026-12-01T10:00:00Z",
        "told": "refused for good",
        "code": "5.1.1",
        "message": "no",
        "worker": "w",
    }
    content = {
        "verdict": "content verified",
        "explanation": "its digest fits",
        "parts": {"subject": "Hi", "text": "a\nb"},
    }
    delivery = {**LINE, "attempts": [attempt], "content": content, "notes": ["The address is suppressed."]}
    person = {"title": "Not sent", "sentence": "no such user", "deliveries": [delivery], "unreached": []}
    console.give(f"{SPRING}/recipients/mia%40example.com", Answer.json(person))
    ran = mia.run("show", "spring", "mia@example.com")
    assert (ran.code, ran.err) == (0, "")
    told = (
        "Not sent: no such user", "Email to m***@example.com over smtp: failed (permanent)", "refused for good",
        "content verified: its digest fits", "  subject: Hi", "    b", "The address is suppressed.",
    )  # fmt: skip
    assert [words for words in told if words not in ran.out] == []


def test_dead_letters_are_grouped_with_what_to_do(console: StandIn, mia: Person) -> None:
    group = {
        "state": "failed",
        "channel": "Email",
        "reason": "permanent",
        "code": "5.1.1",
        "count": 3,
        "example": "c1",
        "message": "no",
    }
    answer = {"items": [group], "counted": 3, "total": 5}
    console.give(f"{SPRING}/deadletters", *map(Answer.json, (answer, answer, {"items": [], "counted": 0, "total": 0})))
    ran = mia.run("deadletters", "spring")
    assert ran.out.splitlines()[1].split()[:5] == ["3", "failed", "Email", "permanent", "5.1.1"]
    assert "kubectl campaign retry spring" in ran.out
    assert "counted are 3 of 5" in ran.out
    assert mia.run("deadletters", "spring", "-o", "json").data == answer
    assert mia.run("deadletters", "spring").out == "No dead letters.\n"


def test_a_proof_comes_as_it_was_made(console: StandIn, mia: Person) -> None:
    page = "<!doctype html>é\n".encode()
    console.give(f"{SPRING}/proof", Answer(body=page))
    assert mia.run("proof", "spring", "-o", "html").out.encode() == page
    console.give(f"{SPRING}/proof", Answer.json(PROOF))
    ran = mia.run("proof", "spring")
    assert (ran.code, "holds: every sum adds up" in ran.out, "sha256:ab" in ran.out) == (0, True, True)
    console.give(f"{SPRING}/proof", Answer.json({**PROOF, "holds": False}))
    assert mia.run("proof", "spring", "-o", "json").code == 1
    assert "DOES NOT HOLD" in mia.run("proof", "spring").out
    assert [query["format"] for _, query, _ in console.asked] == [["html"], ["json"], ["json"], ["json"]]


def test_a_file_is_previewed_and_its_errors_are_told_by_line(console: StandIn, mia: Person, tmp_path: Path) -> None:
    file = tmp_path / "spring.yaml"
    file.write_text("kind: NotificationCampaign\n", "utf-8")
    message = {
        "channel": "Email",
        "recipient": "c1",
        "address": "m@example.com",
        "parts": {"subject": "Hi"},
        "problem": None,
    }
    wrong = {"line": 3, "field": "spec.category", "message": "is required"}
    good = {"messages": [message], "problems": [], "warnings": ["too long"], "recipients": 2, "rejected": 1}
    answers = map(Answer.json, (good, {"messages": [], "problems": [wrong]}))
    console.give("/api/v1/namespaces/shop/preview", *answers)
    ran = mia.run("preview", str(file), "--recipient", "c1")
    assert (ran.code, "  subject: Hi" in ran.out, "warning: too long" in ran.out) == (0, True, True)
    assert "2 rows of recipients, 1 of them refused" in ran.out
    assert console.asked[0][2] == {"text": "kind: NotificationCampaign\n", "recipients": ["c1"]}
    ran = mia.run("preview", "-", stdin="x")
    assert (ran.code, ran.err) == (2, "error: -:3: spec.category: is required\n")
    assert "can't be read" in mia.run("preview", str(tmp_path / "nowhere")).err


# --- refused ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (Answer.problem(403, "Forbidden", "you may not see people of shop"), 5, "ClusterRole sendonce-recipients"),
        (Answer.problem(404, "Not found", "c9 is no recipient of spring"), 4, "c9 is no recipient of spring"),
        (Answer.problem(400, "Bad request", "limit: is no number"), 2, "limit: is no number"),
        (Answer.problem(503, "Unavailable", "the database is away"), 3, "the database is away"),
        (Answer(body=b"<html>please sign in</html>"), 3, "is not Sendonce's console"),
        (Answer(502, b"<html>"), 3, "HTTP 502"),
    ],
)
def test_a_refusal_is_told_without_a_traceback(
    console: StandIn, mia: Person, answer: Answer, code: int, told: str
) -> None:
    console.give(f"{SPRING}/recipients/c9", answer)
    ran = mia.run("show", "spring", "c9")
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_a_token_that_has_expired_is_told(mia: Person) -> None:
    ran = mia.run("recipients", "spring", "--token", "old")
    assert (ran.code, "the token has expired" in ran.err) == (5, True)


def test_a_token_follows_no_redirect(console: StandIn, mia: Person) -> None:
    with standing_in() as other:
        console.give(f"{SPRING}/recipients", Answer(302, headers={"Location": f"{other.url}/stolen"}))
        ran = mia.run("recipients", "spring")
        assert (ran.code, other.asked) == (3, [])
    assert "leads elsewhere" in ran.err


@pytest.mark.parametrize("token", ["a b", "a\r\nX-More: 1", "é"])
def test_a_token_that_can_be_none_is_not_sent(console: StandIn, mia: Person, token: str) -> None:
    ran = mia.run("recipients", "spring", "--token", token)
    assert (ran.code, console.asked) == (2, [])
    assert "--token: is no bearer token" in ran.err


def test_a_console_that_is_away_is_told(mia: Person) -> None:
    ran = mia.run("recipients", "spring", "--console-url", "http://127.0.0.1:9")
    assert (ran.code, "can't be reached" in ran.err) == (3, True)


def test_whoever_signs_in_by_certificate_is_told_where_a_token_comes_from(tmp_path: Path, console: StandIn) -> None:
    kubeconfig = write_kubeconfig(
        tmp_path / "k", {"client-certificate-data": "eA=="}, {"server": "https://127.0.0.1:9"}
    )
    ran = Person(kubeconfig, {"SENDONCE_CONSOLE_URL": console.url}).run("recipients", "spring")
    assert (ran.code, console.asked) == (5, [])
    assert "kubectl create token" in ran.err


def test_the_namespace_that_is_asked_for_is_that_of_the_command_or_of_the_context(
    console: StandIn, mia: Person
) -> None:
    mia.run("deadletters", "spring", "-n", "other team/..")
    mia.run("deadletters", "nc/spring")
    assert [path for path, _, _ in console.asked] == [
        "/api/v1/namespaces/other%20team%2F../campaigns/spring/deadletters",
        f"{SPRING}/deadletters",
    ]


def test_wrong_input_is_told_before_anybody_is_asked(console: StandIn, mia: Person) -> None:
    for words in ("recipients spring --state gone", "recipients spring --limit 0", "show spring", "recipients a/b",
                  "proof spring -o yaml", "show spring ..", "deadletters spring -n .."):  # fmt: skip
        assert mia.run(*words.split()).code == 2
    assert json.dumps(console.asked) == "[]"

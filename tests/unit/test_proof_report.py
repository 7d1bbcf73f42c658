"""The proof of a finished campaign, made of facts: sums, what is not known, and its three forms."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sendonce_store.proof import (
    CONTENT_SECURITY_POLICY,
    Facts,
    Proof,
    ProofError,
    TamperedError,
    build,
    checked,
    to_csv,
    to_html,
    to_json,
)
from sendonce_store.proof.document import digest_of
from sendonce_store.proof.facts import ActionRow, CampaignRow, ReasonGroup, Repeats, Rows, StateGroup
from sendonce_store.standing import Counts

BEGAN = datetime(2026, 12, 1, 9, tzinfo=UTC)
HOSTILE = '=HYPERLINK("http://x.example") <script>alert(1)</script> & \u202e'
SPEC = {
    "category": "Marketing",
    "recipients": {"inline": [{"email": "x@example.com"}]},
    "messages": [
        {
            "channel": "Email",
            "providerRef": {"name": "email"},
            "template": {"from": "n@example.com", "subject": "Hello", "text": "Hi", "locale": "en",
                         "variants": [{"locale": "pt", "text": "Oi"}]},
        }
    ],
}  # fmt: skip
CAMPAIGN = CampaignRow(
    namespace="shop", name="spring", send_key="spring", category="Marketing", topic=None, content_hash="v1:abc",
    spec=SPEC, import_state="done", created_at=BEGAN, started_at=BEGAN, completed_at=BEGAN + timedelta(hours=1),
    cancelled_at=None, ended="complete", ended_reason="SomeUndelivered", ended_message="8 of 10 were sent",
    data_deleted_at=None, final_counts=None, total=10, duplicates=1, rejected=2, unreachable=0, store_id="s-1",
    made_at=BEGAN + timedelta(hours=2),
)  # fmt: skip
ROWS = Rows(
    people=10,
    refused=2,
    states=[
        StateGroup("Email", "sent", None, 7, BEGAN, BEGAN + timedelta(minutes=5)),
        StateGroup("Email", "sent", "resolved", 1, BEGAN, BEGAN),
        StateGroup("Email", "failed", "permanent", 1, BEGAN, BEGAN + timedelta(minutes=9)),
        StateGroup("Email", "uncertain", "unknown_outcome", 1, BEGAN, BEGAN),
    ],
    reasons=[
        ReasonGroup("Email", "failed", "permanent", "5.1.1", 1, HOSTILE),
        ReasonGroup("Email", "uncertain", "unknown_outcome", None, 1, None),
    ],
    repeats=Repeats(0, 3, 0),
)
ACTS = [
    ActionRow(
        "decide", "Resolve", BEGAN, done=True, matched=2, changed=1, message="1 of 2", resolve_as="sent", by="mia"
    )
]
FACTS = Facts(CAMPAIGN, {"Email": Counts(sent=8, failed=1, uncertain=1)}, ACTS, ROWS)


def proof(facts: Facts = FACTS) -> Proof:
    return build(facts, "sendonce 9", lambda text: text)


def campaign(**changes: Any) -> Facts:
    return replace(FACTS, campaign=replace(CAMPAIGN, **changes))


def rows(**changes: Any) -> Facts:
    return replace(FACTS, rows=replace(ROWS, **changes))


def test_a_proof_adds_up_and_says_when_it_began_and_ended() -> None:
    found = proof()
    assert found.holds
    assert (found.people.rows_read, found.people.total) == (13, 10)
    assert found.deliveries.total == 10
    assert [one.channel for one in found.channels] == ["Email"]
    assert found.deliveries.first_hand_off == BEGAN
    assert found.deliveries.last_hand_off == BEGAN + timedelta(minutes=9)
    assert sum(one.count for one in found.reasons) == 2
    assert found.made.software == "sendonce 9"


def test_each_text_has_a_digest_of_its_own_by_channel_and_language() -> None:
    found = proof().content
    assert [(one.channel, one.language) for one in found] == [("Email", "en"), ("Email", "pt")]
    assert all(re.fullmatch(r"[0-9a-f]{64}", one.sha256) for one in found)
    spec = json.loads(json.dumps(SPEC))
    spec["messages"][0]["template"]["variants"][0]["text"] = "Olá"
    other = proof(campaign(spec=spec)).content
    assert other[0] == found[0]
    assert other[1] != found[1]


def test_what_can_not_be_known_is_said() -> None:
    words = " ".join(proof().unknown)
    assert "1 delivery is uncertain" in words
    assert "1 delivery is sent by a person's decision" in words
    assert "repeated" in " ".join(proof(rows(repeats=Repeats(0, 0, 2))).unknown)
    assert "1 delivery is not listed" in " ".join(proof(rows(reasons=ROWS.reasons[:1])).unknown)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        (rows(people=9), "people: rows of the list, as imported"),
        (rows(refused=3), "refused rows: kept, as imported"),
        (rows(states=ROWS.states[1:]), "Email, sent: rows, as counted"),
        (replace(FACTS, counters={"Email": Counts(pending=1, sent=8, failed=1, uncertain=1)}),
         "deliveries without a final state"),
    ],
)  # fmt: skip
def test_a_sum_that_does_not_add_up_breaks_the_proof(facts: Facts, wrong: str) -> None:
    found = proof(facts)
    assert not found.holds
    assert wrong in [one.what for one in found.sums if not one.holds]


def test_somebody_who_was_sent_to_twice_breaks_the_proof_and_a_repeat_under_one_key_does_not() -> None:
    assert proof().duplicates.repeated_under_one_key == 3
    found = proof(rows(repeats=Repeats(1, 0, 0)))
    assert (found.holds, found.duplicates.count) == (False, 1)


def test_a_campaign_that_has_not_ended_has_no_proof() -> None:
    with pytest.raises(ProofError, match="spring has not ended"):
        proof(campaign(ended=None))


def test_without_the_recipients_data_the_totals_are_left_and_the_rest_is_not_known() -> None:
    facts = campaign(data_deleted_at=BEGAN, final_counts={"sent": 8, "failed": 1, "uncertain": 1})
    found = proof(replace(facts, counters={}, rows=None))
    assert found.holds
    assert (found.deliveries.total, found.deliveries.states["sent"]) == (10, 8)
    assert (found.channels, found.reasons, found.duplicates.count) == ([], [], None)
    assert "was deleted at 2026-12-01T09:00:00Z" in found.unknown[0]
    assert b"not known" in to_csv(found)
    assert b"not known" in to_html(found)
    assert json.loads(to_json(found))["duplicates"]["count"] is None


# --- forms -----------------------------------------------------------------------------------------------------------
def test_the_document_is_checked_by_its_digest_whatever_its_white_space() -> None:
    text = to_json(proof())
    found = checked(text)
    assert found["campaign"]["sendKey"] == "spring"
    assert found["deliveries"]["states"]["sent"] == 8
    assert checked(json.dumps(found, ensure_ascii=True).encode()) == found


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"no json", "no proof in JSON"),
        (b"[]", "its kind is not"),
        (b'{"kind": "other"}', "its kind is not"),
        (to_json(proof()).replace(b'"sent": 8', b'"sent": 9'), "was changed"),
        (to_json(proof()).replace(b'"holds": true', b'"holds": false', 1), "was changed"),
        (to_json(proof()).replace(b'"sent": 8', b'"sent": 8, "sent": 8'), "given twice"),
        (to_json(proof()).replace(b'"sent": 8', b'"sent": 8.0'), "no integer"),
        (to_json(proof()).replace(b'"sent": 8', b'"sent": NaN'), "no integer"),
        (to_json(proof()).replace(b'"sent": 8', b'"sent": 8, "x": "\\ud800"'), "was changed"),
        (b"[" * 100_000, "no proof in JSON"),
    ],
)
def test_a_document_that_was_changed_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(TamperedError, match=complaint):
        checked(text)


def test_the_canonical_form_is_that_of_rfc_8785() -> None:
    content = {"b": "é\n\u2028", "a": [True, None, 10, ""]}
    # sha256 of {"a":[true,null,10,""],"b":"é\n<U+2028>"}
    assert digest_of(content) == "sha256:" + sha256_of('{"a":[true,null,10,""],"b":"é\\n\u2028"}')


def sha256_of(text: str) -> str:
    import hashlib  # noqa: PLC0415 - of this test alone

    return hashlib.sha256(text.encode()).hexdigest()


def test_the_sheet_has_a_line_per_figure_and_no_formula() -> None:
    lines = list(csv.DictReader(to_csv(proof()).decode().splitlines()))
    sent = [one for one in lines if one["section"] == "deliveries" and one["state"] == "sent"]
    assert [(one["channel"], one["count"]) for one in sent] == [("all", "8"), ("Email", "8")]
    reason = next(one for one in lines if one["section"] == "reason")
    assert reason["value"].startswith("'=HYPERLINK")
    assert (reason["state"], reason["code"], reason["count"]) == ("failed", "5.1.1", "1")
    digest = next(one["value"] for one in lines if one["name"] == "digest")
    assert digest == checked(to_json(proof()))["digest"]


def test_the_page_escapes_what_comes_from_outside_and_loads_nothing() -> None:
    page = to_html(proof()).decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert re.findall(r'(?:src|href)="[^"]*"', page) == []
    assert re.search(r"@import|url\(|\bstyle=|\bon\w+=", page) is None
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'; style-src 'sha256-")
    assert checked(to_json(proof()))["digest"] in page
    assert "nobody is known to have been sent to twice" in page


def test_a_page_of_a_proof_that_does_not_hold_says_so_first() -> None:
    page = to_html(proof(rows(people=9))).decode()
    assert "This does not hold" in page
    assert "nobody is known" not in page

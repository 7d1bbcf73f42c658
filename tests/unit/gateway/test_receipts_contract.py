"""Every provider that reports: whom it is believed, and what its words are taken for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.gateway.receipts_senders import (
    PLACE,
    PUBLIC,
    SENDERS,
    TOPIC,
    Line,
    Mailgun,
    Resend,
    Sender,
    SendGrid,
    Sent,
    Ses,
    StandardWebhooks,
    Told,
    Twilio,
    Vonage,
    certificate,
    rsa_key,
)

from sendonce_gateway.receipts.registry import SOURCES
from sendonce_gateway.receipts.source import ForgeryError, MalformedError, Post, SecretError
from sendonce_store.receipts import Kind, Receipt

NOW = Told().at
CERTIFICATE = certificate(rsa_key(), NOW - timedelta(days=30))
DATED = [one for one in SENDERS if one.dated]  # type: ignore[attr-defined]


def post(sender: Sender, sent: Sent) -> Post:
    """As the desk hands it over."""
    url = PUBLIC + sender.path
    return Post(
        sent.body,
        dict(sent.headers),
        url + (f"?{sent.query}" if sent.query else ""),
        dict(parse_qsl(sent.query)),
        CERTIFICATE if sender.kind == "ses" else None,
    )


def check(sender: Sender, sent: Sent, now: datetime = NOW, secrets: Any = None) -> list[Receipt]:
    source, request = SOURCES[sender.kind], post(sender, sent)
    given = sender.secrets if secrets is None else secrets
    if source.certificate_url is not None:
        source.certificate_url(request, given)
    source.verify(request, given, now)
    return source.parse(request)


@pytest.fixture(params=SENDERS, ids=lambda one: one.__name__)
def sender(request: pytest.FixtureRequest) -> Sender:
    made = request.param()
    assert isinstance(made, Sender)
    return made


def first(sender: Sender) -> Told:
    return Told(sender.kinds[0] if Kind.DELIVERED not in sender.kinds else Kind.DELIVERED)


# --- what is said ---------------------------------------------------------------------------------------------------
def test_every_kind_of_event_is_understood(sender: Sender) -> None:
    for kind in sender.kinds:
        told = Told(kind)
        [receipt] = check(sender, sender.send(told))
        assert receipt.kind is kind
        assert receipt.address == sender.person
        assert receipt.event_id
        if sender.names_message:
            assert receipt.delivery_id == PLACE
            assert receipt.message_id in {"m-1", "<m-1>"}
        else:
            assert (receipt.delivery_id, receipt.message_id) == (None, None)
            assert receipt.channel is not None


def test_events_are_told_apart_and_one_that_comes_again_is_the_same(sender: Sender) -> None:
    told = first(sender)
    again = check(sender, sender.send(told, NOW + timedelta(seconds=60)), NOW + timedelta(seconds=60))
    assert [one.event_id for one in check(sender, sender.send(told))] == [one.event_id for one in again]
    other = replace(told, no="event-2", message="m-2")
    assert check(sender, sender.send(other))[0].event_id != again[0].event_id


def test_a_message_of_somebody_else_on_the_account_has_no_delivery_of_ours(sender: Sender) -> None:
    [receipt] = check(sender, sender.send(replace(first(sender), place=None)))
    assert receipt.delivery_id is None
    assert receipt.message_id is not None or not sender.names_message


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[1]", b"\xff\xfe", b'{"a":', b"a=%ff&b", b"=" * 2000])
def test_what_is_no_event_is_refused_or_says_nothing(sender: Sender, body: bytes) -> None:
    request = replace(post(sender, sender.send(first(sender))), body=body)
    with suppress(MalformedError):
        assert SOURCES[sender.kind].parse(request) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _changed(value: Any, path: list[int], put: Any) -> Any:
    """The same with `put` at a place that the path leads to."""
    if not path or not isinstance(value, dict | list) or not value:
        return put
    keys = list(value) if isinstance(value, dict) else range(len(value))
    chosen = keys[path[0] % len(keys)]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[chosen] = _changed(value[chosen], path[1:], put)
    return copy


@pytest.mark.parametrize("make", SENDERS, ids=lambda one: one.__name__)
@given(path=st.lists(st.integers(0, 9), max_size=4), put=JSON, inside=st.booleans())
def test_no_change_of_an_event_breaks_the_reading(make: Any, path: list[int], put: Any, inside: bool) -> None:
    sender = make()
    if not sender.send(first(sender)).body.startswith((b"{", b"[")):
        return
    event = json.loads(sender.send(first(sender)).body)
    if inside and isinstance(event, dict) and "Message" in event:
        event["Message"] = json.dumps(_changed(json.loads(event["Message"]), path, put))
    else:
        event = _changed(event, path, put)
    sent = replace(sender.send(first(sender)), body=json.dumps(event).encode())
    source, request = SOURCES[sender.kind], post(sender, sent)
    for step in (lambda: source.verify(request, sender.secrets, NOW), lambda: source.parse(request)):
        with suppress(ForgeryError, MalformedError):
            step()


# --- whom it is believed --------------------------------------------------------------------------------------------
def _refusal(sender: Sender, sent: Sent, now: datetime = NOW, secrets: Any = None) -> str:
    with pytest.raises(ForgeryError) as caught:
        check(sender, sent, now, secrets)
    return caught.value.why


def test_another_secret_is_refused(sender: Sender) -> None:
    stranger = type(sender)()
    if sender.kind == "ses":
        stranger.values = [TOPIC.replace("123456789012", "210987654321")]
        assert _refusal(sender, stranger.send(first(sender))) == "foreign_topic"
    else:
        assert _refusal(sender, stranger.send(first(sender))) == "bad_signature"


def test_without_a_secret_everything_is_refused(sender: Sender) -> None:
    assert _refusal(sender, sender.send(first(sender)), secrets={})


def _without_signature(sender: Sender) -> Iterator[Sent]:
    sent = sender.send(first(sender))
    for name in sent.headers:
        if name != "content-type":
            yield replace(sent, headers={other: value for other, value in sent.headers.items() if other != name})
    if sender.kind in {"ses", "mailgun"}:
        event = json.loads(sent.body)
        yield replace(sent, body=json.dumps({k: v for k, v in event.items() if k.lower() != "signature"}).encode())
    if sender.kind == "vonage":
        event = sender.event(first(sender))
        yield replace(sent, body=json.dumps(event).encode(), headers={"content-type": "application/json"})


def test_a_request_without_a_signature_is_refused(sender: Sender) -> None:
    stripped = list(_without_signature(sender))
    assert stripped
    assert {_refusal(sender, sent) for sent in stripped} == {"no_signature"}


def test_a_changed_body_is_refused_where_the_signature_covers_it(sender: Sender) -> None:
    sent = sender.send(first(sender))
    if not sender.covers_body:
        check(sender, sent)  # docs/receipts.md says whose does not
        return
    for old, new in (
        (b"event-1", b"event-2"),
        (b"m-1", b"m-3"),
        (PLACE.encode(), b"17-4-1f2e3d4c"),
        (b"U4af", b"U4ag"),
    ):
        if old in sent.body:
            changed = replace(sent, body=sent.body.replace(old, new))
            assert _refusal(sender, changed) == "bad_signature"


def test_each_byte_of_a_signature_counts(sender: Sender) -> None:
    sent = sender.send(first(sender))
    names = [
        name for name in sent.headers if "sign" in name or name in {"authorization", "x-sendonce"} or "token" in name
    ]
    for name in names:
        value = sent.headers[name]
        place = value.rindex(",") + 5 if "v1," in value else len(value) // 2
        flipped = value[:place] + ("A" if value[place] != "A" else "B") + value[place + 1 :]
        assert _refusal(sender, replace(sent, headers={**sent.headers, name: flipped})) == "bad_signature"
    if not names:
        word = b'"Signature":"' if sender.kind == "ses" else b'"signature":"' if sender.kind == "mailgun" else b"sig"
        place = sent.body.rindex(word) + len(word) + 5
        digit = b"0" if sent.body[place : place + 1] != b"0" else b"1"
        assert (
            _refusal(sender, replace(sent, body=sent.body[:place] + digit + sent.body[place + 1 :])) == "bad_signature"
        )


@pytest.mark.parametrize("make", DATED, ids=lambda one: one.__name__)
def test_an_old_request_and_one_from_the_future_are_refused_with_the_reason(make: Any) -> None:
    sender = make()
    patience = timedelta(minutes=5) if isinstance(sender, StandardWebhooks) else timedelta(hours=25)
    second = timedelta(seconds=1)
    for moved in (patience - second, -timedelta(minutes=5) + second):
        check(sender, sender.send(first(sender), NOW - moved))
    assert _refusal(sender, sender.send(first(sender), NOW - patience - second)) == "too_old"
    assert _refusal(sender, sender.send(first(sender), NOW + timedelta(minutes=5) + second)) == "too_new"
    with pytest.raises(ForgeryError, match=r"signed \d+ s ago, at most \d+ are taken"):
        check(sender, sender.send(first(sender), NOW - patience - second))


@pytest.mark.parametrize("make", DATED, ids=lambda one: one.__name__)
def test_another_time_than_the_signed_one_is_refused(make: Any) -> None:
    sender = make()
    early, late = sender.send(first(sender), NOW - timedelta(days=9)), sender.send(first(sender))
    names = [name for name in early.headers if "timestamp" in name]
    if names:
        forged = replace(early, headers={**early.headers, **{name: late.headers[name] for name in names}})
    else:
        stamps = (str(int((NOW - timedelta(days=9)).timestamp())), str(int(NOW.timestamp())))
        stamps = ("2026-11-25T09:00:00.000Z", "2026-12-04T09:00:00.000Z") if sender.kind == "ses" else stamps
        forged = replace(early, body=early.body.replace(stamps[0].encode(), stamps[1].encode()))
        assert forged != early
    assert _refusal(sender, forged) == "bad_signature"


def test_two_secrets_are_good_while_one_is_being_changed(sender: Sender) -> None:
    if sender.kind == "ses":
        sender.values = [TOPIC, f"{TOPIC}-new"]
        check(sender, sender.send(first(sender)))
        assert _refusal(sender, sender.send(first(sender)), secrets={"topics": [f"{TOPIC}-new"]}) == "foreign_topic"
        return
    old, new = sender.values[0], sender.make_secret()
    signed_before = sender.send(first(sender))
    sender.values = [new, old]
    check(sender, signed_before)
    check(sender, sender.send(first(sender)))
    sender.values = [new]
    assert _refusal(sender, signed_before) == "bad_signature"


@pytest.mark.parametrize(
    ("make", "secrets"),
    [
        (SendGrid, {"publicKey": ["not base64!"]}),
        (SendGrid, {"publicKey": ["AAAA"]}),
        (Resend, {"secret": ["whsec_***"]}),
        (Resend, {"secret": ["whsec_c2hvcnQ="]}),
    ],
)
def test_a_secret_that_is_none_is_said_to_be_ours_to_mend(make: Any, secrets: Any) -> None:
    sender = make()
    with pytest.raises(SecretError, match=next(iter(secrets))):
        check(sender, sender.send(first(sender)), secrets=secrets)


# --- of one provider ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    [
        "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com.example.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://example.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com@example.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
        "https://sns.eu-west-1.amazonaws.com/other.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem?x",
        "https://mybucket.s3.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
        "",
    ],
)
def test_a_certificate_is_asked_of_amazon_alone(url: str) -> None:
    sender = Ses()
    event = {**sender.event(Told()), "SigningCertURL": url}
    assert _refusal(sender, sender.sign(event, NOW)) == "foreign_certificate"


def test_a_certificate_counts_while_it_is_valid() -> None:
    sender = Ses()
    request = post(sender, sender.send(Told()))
    for begins, days in ((NOW - timedelta(days=30), 20), (NOW + timedelta(days=1), 20)):
        old = replace(request, certificate=certificate(rsa_key(), begins, days))
        with pytest.raises(ForgeryError, match="not valid now"):
            SOURCES["ses"].verify(old, sender.secrets, NOW)
    with pytest.raises(ForgeryError):
        SOURCES["ses"].verify(replace(request, certificate=b"no certificate"), sender.secrets, NOW)


def _asked_to_confirm(**more: str) -> Post:
    sender = Ses()
    url = f"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=t"
    event = sender.envelope(Told(), "You have chosen to subscribe", Type="SubscriptionConfirmation", Token="t")
    del event["Subject"]
    request = post(sender, sender.sign({**event, "SubscribeURL": url, **more}, NOW))
    SOURCES["ses"].verify(request, sender.secrets, NOW)
    return request


def test_a_subscription_is_confirmed_with_amazon_for_its_own_topic() -> None:
    confirm = SOURCES["ses"].confirmation
    assert confirm is not None
    request = _asked_to_confirm()
    assert (confirm(request) or "").startswith("https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription")
    assert SOURCES["ses"].parse(request) == []
    assert confirm(post(Ses(), Ses().send(Told()))) is None
    for url in (
        f"https://example.com/?Action=ConfirmSubscription&TopicArn={TOPIC}",
        f"http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}",
        "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=another",
        f"https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe&TopicArn={TOPIC}",
    ):
        with pytest.raises(ForgeryError, match="SubscribeURL"):
            confirm(_asked_to_confirm(SubscribeURL=url))


def test_the_older_notifications_of_ses_are_read_too() -> None:
    sender = Ses()
    event = sender.event(Told(Kind.BOUNCED, place=None))
    event["Message"] = event["Message"].replace("eventType", "notificationType")
    [receipt] = check(sender, sender.sign(event, NOW))
    assert (receipt.kind, receipt.message_id) == (Kind.BOUNCED, "m-1")
    assert receipt.detail == "smtp; 550 5.1.1 user unknown"


def test_many_events_of_sendgrid_come_in_one_request() -> None:
    sender = SendGrid()
    events = [one for no in range(3) for one in sender.event(Told(no=f"event-{no}"))] + [{"event": "open"}]
    assert [one.event_id for one in check(sender, sender.sign(events, NOW))] == ["event-0", "event-1", "event-2"]


def test_a_token_of_mailgun_is_good_for_one_event_whatever_it_says() -> None:
    sender = Mailgun()
    sent = sender.send(Told(Kind.DELIVERED))
    forged = replace(sent, body=sent.body.replace(b'"delivered"', b'"complained"'))
    [true], [false] = check(sender, sent), check(sender, forged)
    assert (true.event_id, true.once) == (false.event_id, True)


def test_stop_and_start_of_twilio_are_about_the_person() -> None:
    sender = Twilio()
    fields = {"MessageSid": "SM1", "From": "+15005550006", "To": "+15005550001", "Body": "Stop", "OptOutType": "STOP"}
    [stop] = check(sender, sender.sign((fields, ""), NOW))
    assert (stop.kind, stop.address, stop.channel, stop.message_id) == (Kind.UNSUBSCRIBED, "+15005550006", "SMS", None)
    [start] = check(sender, sender.sign(({**fields, "OptOutType": "START"}, ""), NOW))
    assert start.kind is Kind.RETURNED
    assert check(sender, sender.sign(({**fields, "OptOutType": "HELP"}, ""), NOW)) == []


def test_the_address_that_twilio_was_given_is_part_of_its_signature() -> None:
    sender = Twilio()
    sent = sender.send(Told())
    check(sender, sent)
    assert _refusal(sender, replace(sent, query="delivery=18-3-1f2e3d4c")) == "bad_signature"


def test_the_md5_signature_of_vonage_is_refused() -> None:
    sender = Vonage()
    sent = sender.send(Told())
    assert (
        _refusal(sender, replace(sent, body=sent.body[: sent.body.rindex(b"sig=") + 4] + b"0" * 32)) == "bad_signature"
    )


def test_line_is_asked_for_nothing_but_blocks() -> None:
    sender = Line()
    assert check(sender, sender.sign({"destination": "U0", "events": []}, NOW)) == []


def test_a_report_of_ones_own_says_what_it_may_be() -> None:
    sender = StandardWebhooks()
    with pytest.raises(MalformedError, match=r"type: use one of receipt\.accepted, receipt\.delivered"):
        check(sender, sender.sign(("event-1", {"type": "delivered", "data": {}}), NOW))
    with pytest.raises(MalformedError, match="name a delivery, a message or an address"):
        check(sender, sender.sign(("event-1", {"type": "receipt.delivered", "data": {}}), NOW))

"""Providers that report, as the gateway meets them: what happened in, a signed request out.

    sender.secrets             what the gateway is given to check it with
    sender.send(events, at)    a request, signed at that time with the first secret
    sender.event(kind, …)      what the provider writes of a kind of event; None: it has no such event

Signatures are made with `cryptography` and put together anew from the providers' pages, not by what checks them.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sendonce_store.receipts import Kind

PUBLIC = "https://notify.example.com/base"
PLACE = "17-3-1f2e3d4c"
ADDRESS = "ada@example.com"
NUMBER = "+15005550006"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail-events"
CERTIFICATE_URL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""


def mac(key: str | bytes, message: bytes, algorithm: hashes.HashAlgorithm) -> bytes:
    made = hmac.HMAC(key.encode() if isinstance(key, str) else key, algorithm)
    made.update(message)
    return made.finalize()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True, slots=True)
class Told:
    """What an event is about."""

    kind: Kind = Kind.DELIVERED
    place: str | None = PLACE
    message: str = "m-1"
    no: str = "event-1"
    at: datetime = datetime(2026, 12, 4, 9, 0, tzinfo=UTC)
    address: str = ADDRESS


class Sender:
    """One kind of provider. `dated`: an old request is refused; `covers_body`: so is one whose body was changed."""

    kind = ""
    dated = True
    covers_body = True
    keyed_by = ("secret",)
    kinds: Sequence[Kind] = ()
    person = ADDRESS
    names_message = True

    def __init__(self) -> None:
        self.values = [self.make_secret()]
        self.path = f"/receipts/shop/{self.kind}/mail"

    def make_secret(self) -> Any:
        return secrets.token_urlsafe(24)

    def line(self, secret: Any) -> str:
        """The secret as it is written into the gateway's file."""
        return str(secret)

    @property
    def secrets(self) -> dict[str, list[str]]:
        return {self.keyed_by[0]: [self.line(one) for one in self.values]}

    def event(self, told: Told) -> Any:
        raise NotImplementedError

    def send(self, told: Told, at: datetime | None = None) -> Sent:
        """The event in a request signed at `at`, by default when it happened."""
        return self.sign(self.event(told), at or told.at)

    def sign(self, event: Any, at: datetime) -> Sent:
        raise NotImplementedError


# --- SES ------------------------------------------------------------------------------------------------------------
@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate(key: Any, begins: datetime, days: int = 365) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sns.amazonaws.com")])
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(begins).not_valid_after(begins + timedelta(days=days))
    return built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


class Ses(Sender):
    kind = "ses"
    keyed_by = ("topics",)
    kinds = tuple(kind for kind in Kind if kind not in {Kind.BLOCKED, Kind.RETURNED})
    version = "2"

    def make_secret(self) -> Any:
        return TOPIC

    def event(self, told: Told) -> Any:
        moment = {"timestamp": iso(told.at)}
        parts: dict[Kind, dict[str, Any]] = {
            Kind.ACCEPTED: {"eventType": "Send", "send": {}},
            Kind.DELIVERED: {"eventType": "Delivery", "delivery": moment | {"recipients": [told.address]}},
            Kind.BOUNCED: self._bounce("Permanent", moment, told),
            Kind.BOUNCED_TRANSIENT: self._bounce("Transient", moment, told),
            Kind.COMPLAINED: {
                "eventType": "Complaint",
                "complaint": moment | {"complainedRecipients": [{"emailAddress": told.address}]},
            },
            Kind.DROPPED: {"eventType": "Reject", "reject": {"reason": "Bad content"}},
            Kind.FAILED: {"eventType": "Rendering Failure", "failure": {"errorMessage": "no such attribute"}},
            Kind.UNSUBSCRIBED: {
                "eventType": "Subscription",
                "subscription": moment | {"newTopicPreferences": {"unsubscribeAll": True}},
            },
        }
        tags = {"ses:source-ip": ["192.0.2.1"]} | ({"sendonce-delivery": [told.place]} if told.place else {})
        mail = {"timestamp": iso(told.at), "messageId": told.message, "destination": [told.address], "tags": tags}
        return self.envelope(told, json.dumps(parts[told.kind] | {"mail": mail}))

    @staticmethod
    def _bounce(kind: str, moment: Mapping[str, str], told: Told) -> dict[str, Any]:
        people = [{"emailAddress": told.address, "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 user unknown"}]
        return {"eventType": "Bounce", "bounce": {**moment, "bounceType": kind, "bouncedRecipients": people}}

    def envelope(self, told: Told, message: str, **more: str) -> dict[str, str]:
        return {
            "Type": "Notification",
            "MessageId": told.no,
            "TopicArn": self.values[0],
            "Subject": "Amazon SES Email Event Notification",
            "Message": message,
            "SignatureVersion": self.version,
            "SigningCertURL": CERTIFICATE_URL,
            **more,
        }

    def sign(self, event: Any, at: datetime) -> Sent:
        event = {**event, "Timestamp": iso(at)}
        names = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        signed = "".join(f"{name}\n{event[name]}\n" for name in names if name in event)
        digest = hashes.SHA1() if self.version == "1" else hashes.SHA256()  # noqa: S303 - what version 1 is
        made = rsa_key().sign(signed.encode(), padding.PKCS1v15(), digest)
        return Sent(compact(event | {"Signature": b64(made)}), {"content-type": "text/plain; charset=UTF-8"})


class SesVersion1(Ses):
    version = "1"


# --- the other senders of mail --------------------------------------------------------------------------------------
class SendGrid(Sender):
    kind = "sendgrid"
    keyed_by = ("publicKey",)
    kinds = tuple(kind for kind in Kind if kind not in {Kind.FAILED, Kind.BLOCKED})

    def make_secret(self) -> Any:
        return ec.generate_private_key(ec.SECP256R1())

    def line(self, secret: Any) -> str:
        return b64(secret.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))

    def event(self, told: Told) -> Any:
        names = {
            Kind.ACCEPTED: "processed",
            Kind.DELIVERED: "delivered",
            Kind.BOUNCED: "bounce",
            Kind.BOUNCED_TRANSIENT: "bounce",
            Kind.DROPPED: "dropped",
            Kind.COMPLAINED: "spamreport",
            Kind.UNSUBSCRIBED: "group_unsubscribe",
            Kind.RETURNED: "group_resubscribe",
        }
        event = {
            "email": told.address,
            "timestamp": int(told.at.timestamp()),
            "event": names[told.kind],
            "sg_event_id": told.no,
            "sg_message_id": f"{told.message}.recvd-5f54b5d587-w4hg9-1-61B1A2B5-2.0",
            "sendonce_delivery": told.place,
        }
        if told.kind in {Kind.BOUNCED, Kind.BOUNCED_TRANSIENT}:
            kind = "bounce" if told.kind is Kind.BOUNCED else "blocked"
            event |= {"type": kind, "status": "5.1.1", "reason": "550 user unknown"}
        return [event]

    def sign(self, event: Any, at: datetime) -> Sent:
        body, moment = compact(event), str(int(at.timestamp()))
        made = self.values[0].sign(moment.encode() + body, ec.ECDSA(hashes.SHA256()))
        name = "x-twilio-email-event-webhook"
        return Sent(body, {f"{name}-signature": b64(made), f"{name}-timestamp": moment})


class Mailgun(Sender):
    kind = "mailgun"
    covers_body = False
    keyed_by = ("signingKey",)
    kinds = (Kind.ACCEPTED, Kind.DELIVERED, Kind.BOUNCED, Kind.FAILED, Kind.DROPPED, Kind.COMPLAINED, Kind.UNSUBSCRIBED)

    def event(self, told: Told) -> Any:
        parts: dict[Kind, dict[str, Any]] = {
            Kind.ACCEPTED: {"event": "failed", "severity": "temporary", "reason": "generic"},
            Kind.DELIVERED: {"event": "delivered"},
            Kind.BOUNCED: {"event": "failed", "severity": "permanent", "reason": "bounce"},
            Kind.FAILED: {"event": "failed", "severity": "permanent", "reason": "old"},
            Kind.DROPPED: {"event": "failed", "severity": "permanent", "reason": "suppress-unsubscribe"},
            Kind.COMPLAINED: {"event": "complained"},
            Kind.UNSUBSCRIBED: {"event": "unsubscribed"},
        }
        data = {
            "id": "not what it is told apart by",
            "timestamp": told.at.timestamp(),
            "recipient": told.address,
            "message": {"headers": {"message-id": told.message.strip("<>")}},
            "user-variables": {"sendonce-delivery": told.place} if told.place else {},
            "delivery-status": {"code": 550, "message": "5.1.1 user unknown"},
        }
        return {"event-data": data | parts[told.kind], "token": told.no}

    def sign(self, event: Any, at: datetime) -> Sent:
        moment, token = str(int(at.timestamp())), event["token"]
        made = mac(self.values[0], (moment + token).encode(), hashes.SHA256()).hex()
        signature = {"timestamp": moment, "token": token, "signature": made}
        return Sent(compact({"signature": signature, "event-data": event["event-data"]}))


class Postmark(Sender):
    kind = "postmark"
    dated = False
    covers_body = False
    keyed_by = ("login",)
    kinds = tuple(kind for kind in Kind if kind not in {Kind.FAILED, Kind.DROPPED, Kind.BLOCKED})

    def make_secret(self) -> Any:
        return f"sendonce:{secrets.token_urlsafe(24)}"

    def event(self, told: Told) -> Any:
        number = int(re.sub(r"\D", "", told.no) or 1)
        parts: dict[Kind, dict[str, Any]] = {
            Kind.DELIVERED: {"RecordType": "Delivery", "Recipient": told.address, "DeliveredAt": iso(told.at)},
            Kind.COMPLAINED: {
                "RecordType": "SpamComplaint",
                "ID": number,
                "Email": told.address,
                "Type": "SpamComplaint",
            },
            Kind.UNSUBSCRIBED: self._change(told, "ManualSuppression", suppressed=True),
            Kind.RETURNED: self._change(told, "", suppressed=False),
        }
        types = {Kind.BOUNCED: "HardBounce", Kind.BOUNCED_TRANSIENT: "SoftBounce", Kind.ACCEPTED: "AutoResponder"}
        common = {"MessageID": told.message, "Metadata": {"sendonce_delivery": told.place} if told.place else {}}
        if told.kind in types:
            bounce = {"RecordType": "Bounce", "ID": number, "Email": told.address, "BouncedAt": iso(told.at)}
            return common | bounce | {"Type": types[told.kind], "Details": "550 user unknown"}
        return common | parts[told.kind]

    @staticmethod
    def _change(told: Told, reason: str, *, suppressed: bool) -> dict[str, Any]:
        event = {"RecordType": "SubscriptionChange", "Recipient": told.address, "ChangedAt": iso(told.at)}
        return event | {"SuppressSending": suppressed, "SuppressionReason": reason or None, "Origin": "Recipient"}

    def sign(self, event: Any, at: datetime) -> Sent:
        return Sent(compact(event), {"authorization": f"Basic {b64(self.values[0].encode())}"})


class PostmarkHeader(Postmark):
    keyed_by = ("header",)

    def make_secret(self) -> Any:
        return f"X-Sendonce: {secrets.token_urlsafe(24)}"

    def sign(self, event: Any, at: datetime) -> Sent:
        return Sent(compact(event), {"x-sendonce": self.values[0].partition(": ")[2]})


class StandardWebhooks(Sender):
    kind = "webhook"
    prefix = "webhook"
    kinds = tuple(Kind)

    def make_secret(self) -> Any:
        return secrets.token_bytes(32)

    def line(self, secret: Any) -> str:
        return f"whsec_{b64(secret)}"

    def event(self, told: Told) -> Any:
        data = {"delivery": told.place, "message": told.message, "address": told.address, "detail": "550 user unknown"}
        return told.no, {"type": f"receipt.{told.kind.value}", "timestamp": iso(told.at), "data": data}

    def sign(self, event: Any, at: datetime) -> Sent:
        no, content = event
        body, moment = compact(content), str(int(at.timestamp()))
        made = b64(mac(self.values[0], f"{no}.{moment}.".encode() + body, hashes.SHA256()))
        words = f"v1a,not-ours v1,{b64(bytes(32))} v1,{made}"
        return Sent(
            body, {f"{self.prefix}-id": no, f"{self.prefix}-timestamp": moment, f"{self.prefix}-signature": words}
        )


class Resend(StandardWebhooks):
    kind = "resend"
    prefix = "svix"
    kinds = tuple(kind for kind in Kind if kind not in {Kind.UNSUBSCRIBED, Kind.BLOCKED, Kind.RETURNED})

    def event(self, told: Told) -> Any:
        names = {
            Kind.ACCEPTED: "email.sent",
            Kind.DELIVERED: "email.delivered",
            Kind.BOUNCED: "email.bounced",
            Kind.BOUNCED_TRANSIENT: "email.bounced",
            Kind.FAILED: "email.failed",
            Kind.DROPPED: "email.suppressed",
            Kind.COMPLAINED: "email.complained",
        }
        data: dict[str, Any] = {"email_id": told.message, "to": [told.address], "from": "shop@example.com"}
        if told.place:
            data["tags"] = [{"name": "campaign", "value": "x"}, {"name": "sendonce_delivery", "value": told.place}]
        if told.kind in {Kind.BOUNCED, Kind.BOUNCED_TRANSIENT}:
            kind = "Permanent" if told.kind is Kind.BOUNCED else "Transient"
            data["bounce"] = {"type": kind, "subType": "General", "message": "550 user unknown"}
        return told.no, {"type": names[told.kind], "created_at": iso(told.at), "data": data}


# --- texts ----------------------------------------------------------------------------------------------------------
class Twilio(Sender):
    kind = "twilio"
    dated = False
    keyed_by = ("authToken",)
    person = NUMBER
    kinds = tuple(kind for kind in Kind if kind not in {Kind.DROPPED, Kind.COMPLAINED, Kind.BLOCKED, Kind.RETURNED})

    def event(self, told: Told) -> Any:
        states = {
            Kind.ACCEPTED: ("sent", ""),
            Kind.DELIVERED: ("delivered", ""),
            Kind.BOUNCED: ("undelivered", "30005"),
            Kind.BOUNCED_TRANSIENT: ("undelivered", "30003"),
            Kind.FAILED: ("failed", "30007"),
            Kind.UNSUBSCRIBED: ("failed", "21610"),
        }
        state, code = states[told.kind]
        fields = {"MessageSid": told.message, "MessageStatus": state, "To": NUMBER, "From": "+15005550001", "Body": "ü"}
        return fields | ({"ErrorCode": code} if code else {}), f"delivery={told.place}" if told.place else ""

    def sign(self, event: Any, at: datetime) -> Sent:
        fields, query = event
        url = PUBLIC + self.path + (f"?{query}" if query else "")
        signed = url + "".join(name + value for name, value in sorted(fields.items()))
        made = mac(self.values[0], signed.encode(), hashes.SHA1())  # noqa: S303 - Twilio's
        headers = {"x-twilio-signature": b64(made), "content-type": "application/x-www-form-urlencoded"}
        return Sent(urlencode(fields).encode(), headers, query)


class Vonage(Sender):
    kind = "vonage"
    keyed_by = ("signatureSecret",)
    person = NUMBER
    kinds = (Kind.ACCEPTED, Kind.DELIVERED, Kind.BOUNCED, Kind.BOUNCED_TRANSIENT, Kind.FAILED)
    as_json = False

    def event(self, told: Told) -> Any:
        states = {
            Kind.ACCEPTED: ("buffered", "0"),
            Kind.DELIVERED: ("delivered", "0"),
            Kind.BOUNCED: ("failed", "9"),
            Kind.BOUNCED_TRANSIENT: ("expired", "2"),
            Kind.FAILED: ("rejected", "6"),
        }
        state, code = states[told.kind]
        fields = {"msisdn": NUMBER[1:], "to": "A&B=C", "messageId": told.message, "status": state, "err-code": code}
        fields["message-timestamp"] = told.at.strftime("%Y-%m-%d %H:%M:%S")
        return fields | ({"client-ref": told.place} if told.place else {})

    def sign(self, event: Any, at: datetime) -> Sent:
        fields = {**event, "timestamp": str(int(at.timestamp())), "nonce": "n"}
        pairs = (f"&{name}={re.sub('[&=]', '_', fields[name])}" for name in sorted(fields))
        fields["sig"] = mac(self.values[0], "".join(pairs).encode(), hashes.SHA256()).hex().upper()
        if self.as_json:
            return Sent(compact(fields), {"content-type": "application/json"})
        return Sent(urlencode(fields).encode(), {"content-type": "application/x-www-form-urlencoded"})


class VonageJson(Vonage):
    as_json = True


# --- people who block -----------------------------------------------------------------------------------------------
class Line(Sender):
    kind = "line"
    dated = False
    keyed_by = ("channelSecret",)
    kinds = (Kind.BLOCKED, Kind.RETURNED)
    person = "U4af4980629"
    names_message = False

    def event(self, told: Told) -> Any:
        event = {
            "type": "unfollow" if told.kind is Kind.BLOCKED else "follow",
            "source": {"type": "user", "userId": self.person},
            "timestamp": int(told.at.timestamp() * 1000),
            "webhookEventId": told.no,
        }
        return {"destination": "U0", "events": [{"type": "message", "source": {"userId": "U1"}}, event]}

    def sign(self, event: Any, at: datetime) -> Sent:
        body = compact(event)
        return Sent(body, {"x-line-signature": b64(mac(self.values[0], body, hashes.SHA256()))})


class Telegram(Sender):
    kind = "telegram"
    dated = False
    covers_body = False
    keyed_by = ("secretToken",)
    kinds = (Kind.BLOCKED, Kind.RETURNED)
    person = "123456789"
    names_message = False

    def event(self, told: Told) -> Any:
        status = "kicked" if told.kind is Kind.BLOCKED else "member"
        change = {
            "chat": {"id": int(self.person), "type": "private"},
            "date": int(told.at.timestamp()),
            "new_chat_member": {"status": status},
        }
        return {"update_id": int(re.sub(r"\D", "", told.no) or 1), "my_chat_member": change}

    def sign(self, event: Any, at: datetime) -> Sent:
        return Sent(compact(event), {"x-telegram-bot-api-secret-token": self.values[0]})


SENDERS: tuple[Callable[[], Sender], ...] = (
    Ses, SesVersion1, SendGrid, Mailgun, Postmark, PostmarkHeader, Resend, Twilio, Vonage, VonageJson, Line, Telegram,
    StandardWebhooks,
)  # fmt: skip


def later(told: Told, seconds: float) -> Told:
    return replace(told, at=told.at + timedelta(seconds=seconds))

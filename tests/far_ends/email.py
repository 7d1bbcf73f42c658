"""The mail APIs: SES, SendGrid, Mailgun, Postmark, Resend."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from base64 import b64encode
from dataclasses import dataclass, field
from email.header import decode_header, make_header
from email.utils import parseaddr
from typing import Any, ClassVar

from tests.far_ends.face import Case, Face, KeyMemory, P, Reply, Request, S, T, U, W, form_of, json_of, path_of

MAIL: dict[str, Any] = {
    "sender": "Søren News <news@example.com>",
    "reply_to": "desk@example.com",
    "subject": "Grüße & mehr",
    "text": "Guten Morgen, Ann €",
    "html": "<p>Guten Morgen</p>",
    "headers": (("List-Unsubscribe", "<https://example.com/u>"),),
}


@dataclass
class MailFace(Face):
    channel: ClassVar[str] = "Email"
    good_to: ClassVar[str] = "ann@example.com"
    bad_to: ClassVar[str] = "nobody@example.com"
    content: ClassVar[dict[str, Any]] = MAIL
    needs_sender: ClassVar[bool] = True


@dataclass
class SesFace(MailFace):
    type: ClassVar[str] = "SES"
    secrets: ClassVar[dict[str, str]] = {"accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPx"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"secretAccessKey": "another-secret-key"},
        "unknown": {"accessKeyID": "AKIDNOBODY"},
        "expired": {"accessKeyID": "ASIAEXPIRED", "sessionToken": "old-session-token"},
    }
    too_long: ClassVar[dict[str, Any]] = {"headers": tuple((f"X-{no}", "x") for no in range(16))}

    def block(self) -> dict[str, Any]:
        return super().block() | {"region": "eu-west-1", "configurationSet": "news"}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/v2/email/outbound-emails"
        if (refused := self._refused(request)) is not None:
            return refused
        mail = json_of(request)
        simple = mail["Content"]["Simple"]
        assert mail["FromEmailAddress"].isascii(), "SES wants the name as an encoded word"
        name, address = parseaddr(mail["FromEmailAddress"])
        assert (str(make_header(decode_header(name))), address) == ("Søren News", "news@example.com")
        assert mail["ReplyToAddresses"] == ["desk@example.com"]
        assert mail["ConfigurationSetName"] == "news"
        assert simple["Subject"] == {"Data": MAIL["subject"], "Charset": "UTF-8"}
        assert simple["Body"]["Html"]["Data"] == MAIL["html"]
        assert simple["Headers"] == [{"Name": "List-Unsubscribe", "Value": "<https://example.com/u>"}]
        (to,) = mail["Destination"]["ToAddresses"]
        if to == self.bad_to:
            return error("BadRequestException", 400, "Illegal address")
        assert mail["EmailTags"][0]["Name"] == "sendonce-delivery"
        return Reply(200, {"MessageId": f"ses-{self.take(mail['EmailTags'][0]['Value'])}"})

    def _refused(self, request: Request) -> Reply | None:
        """Check the signature as the service does, from what came over the wire."""
        said = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/eu-west-1/ses/aws4_request, SignedHeaders=([a-z0-9;-]+), "
            r"Signature=([0-9a-f]{64})",
            request.headers["Authorization"],
        )
        assert said is not None
        key_id, day, names, signature = said.groups()
        if "x-amz-security-token" in request.headers:
            return error("ExpiredTokenException", 403, "The security token included in the request is expired")
        if key_id != self.secrets["accessKeyID"]:
            return error("UnrecognizedClientException", 403, "The security token included in the request is invalid.")
        lower = {name.lower(): value for name, value in request.headers.items()}
        assert {"host", "x-amz-date"} <= set(names.split(";"))
        lines = "".join(f"{name}:{lower[name]}\n" for name in names.split(";"))
        canonical = f"POST\n{path_of(request)}\n\n{lines}\n{names}\n{hashlib.sha256(request.body).hexdigest()}"
        key = b"AWS4" + self.secrets["secretAccessKey"].encode()
        for part in (day, "eu-west-1", "ses", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{lower['x-amz-date']}\n{day}/eu-west-1/ses/aws4_request\n{hashed}"
        if hmac.digest(key, text.encode(), "sha256").hex() != signature:
            return error("SignatureDoesNotMatch", 403, "The request signature we calculated does not match")
        return None


def error(kind: str, status: int, message: str) -> Reply:
    return Reply(status, {"message": message}, (f"x-amzn-ErrorType: {kind}:http://internal.amazon.com/",))


SesFace.cases = (
    Case("bad address", error("BadRequestException", 400, "Invalid domain"), P, "BadRequestException"),
    Case("suspended", error("AccountSuspendedException", 400, "suspended"), S, "AccountSuspendedException"),
    Case("paused", error("SendingPausedException", 400, "paused"), S, "SendingPausedException"),
    Case("mail from", error("MailFromDomainNotVerifiedException", 400, "x"), S, "MailFromDomainNotVerifiedException"),
    Case("no set", error("NotFoundException", 404, "Configuration set news does not exist"), S, "NotFoundException"),
    Case(
        "sandbox",
        error("MessageRejected", 400, "Email address is not verified. Check failed: a@b"),
        S,
        "MessageRejected",
    ),
    Case("too many", error("TooManyRequestsException", 429, "Too many"), W, "TooManyRequestsException"),
    Case("rate", error("LimitExceededException", 400, "Maximum sending rate exceeded."), W, "LimitExceededException"),
    Case(
        "day's quota",
        error("LimitExceededException", 400, "Daily message quota exceeded."),
        W,
        "LimitExceededException",
        3600,
    ),
    Case("internal", error("InternalServiceErrorException", 500, "oops"), U, "InternalServiceErrorException"),
    Case(
        "type in the body",
        Reply(400, {"__type": "com.x#BadRequestException", "message": "y"}),
        P,
        "BadRequestException",
    ),
    Case("signature", error("SignatureDoesNotMatch", 403, "does not match"), S, "SignatureDoesNotMatch"),
    Case("unavailable", Reply(503, b"<html>busy</html>"), U, "503"),
)


@dataclass
class SendGridFace(MailFace):
    type: ClassVar[str] = "SendGrid"
    secrets: ClassVar[dict[str, str]] = {"apiKey": "SG.good-key"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"apiKey": "SG.wrong-key"},
        "revoked": {"apiKey": "SG.revoked-key"},
    }
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * (20 * 1024 * 1024)}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/v3/mail/send"
        if request.headers["Authorization"] != "Bearer SG.good-key":
            why = "The provided authorization grant is invalid, expired, or revoked"
            return Reply(401, {"errors": [{"message": why, "field": None, "help": None}]})
        mail = json_of(request)
        (person,) = mail["personalizations"]
        assert mail["from"] == {"email": "news@example.com", "name": "Søren News"}
        assert mail["reply_to"] == {"email": "desk@example.com"}
        assert [part["type"] for part in mail["content"]] == ["text/plain", "text/html"]
        assert mail["headers"] == {"List-Unsubscribe": "<https://example.com/u>"}
        if person["to"] == [{"email": self.bad_to}]:
            return sendgrid(400, "personalizations.0.to.0.email", "Does not contain a valid address.")
        no = self.take(person["custom_args"]["sendonce_delivery"])
        return Reply(202, b"", (f"X-Message-Id: sg-{no}",))


def sendgrid(status: int, where: str | None, message: str, *headers: str) -> Reply:
    return Reply(status, {"errors": [{"message": message, "field": where, "help": None}]}, headers)


_TO, _FROM = "personalizations.0.to.0.email", "from.email"
SendGridFace.cases = (
    Case("to", sendgrid(400, _TO, "Does not contain a valid address."), P, _TO),
    Case("from", sendgrid(400, _FROM, "The from email does not contain a valid address."), S, _FROM),
    Case("from without a field", sendgrid(400, None, "The from address is not a verified sender"), S, "400"),
    Case("other content", sendgrid(400, "content.0.value", "must be a string"), P, "content.0.value"),
    Case("no right", sendgrid(403, None, "The from address does not match a verified Sender Identity"), S, "403"),
    Case("credit", sendgrid(401, None, "Maximum credits exceeded"), S, "401"),
    Case("residency", sendgrid(451, None, "data residency"), S, "451"),
    Case("too large", sendgrid(413, None, "Payload Too Large"), P, "413"),
    Case("throttled", sendgrid(429, None, "too many requests"), W, "429"),
    Case("throttled by Retry-After", sendgrid(429, None, "too many requests", "Retry-After: 7"), W, "429", 7),
    Case("throttled, over", sendgrid(429, None, "slow", "X-RateLimit-Reset: 1000"), W, "429", 0),
    Case("internal", sendgrid(500, None, "oops"), U, "500"),
    Case("unavailable", sendgrid(503, None, "oops"), U, "503"),
)


def sendgrid_reset(seconds: float) -> Reply:
    """Throttled until a moment that lies so many seconds ahead."""
    return sendgrid(429, None, "too many requests", f"X-RateLimit-Reset: {int(time.time() + seconds)}")


@dataclass
class MailgunFace(MailFace):
    type: ClassVar[str] = "Mailgun"
    secrets: ClassVar[dict[str, str]] = {"apiKey": "key-good-one"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"apiKey": "key-wrong-one"},
        "revoked": {"apiKey": "key-revoked"},
    }
    too_long: ClassVar[dict[str, Any]] = {"headers": (("X-Long", "x" * 17_000),)}

    def block(self) -> dict[str, Any]:
        return super().block() | {"domain": "mg.example.com"}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/v3/mg.example.com/messages"
        if request.headers["Authorization"] != "Basic " + b64encode(b"api:key-good-one").decode():
            return Reply(401, b"Forbidden")
        mail = form_of(request)
        assert mail["from"] == MAIL["sender"]
        assert mail["h:Reply-To"] == "desk@example.com"
        assert mail["h:List-Unsubscribe"] == "<https://example.com/u>"
        assert (mail["subject"], mail["html"]) == (MAIL["subject"], MAIL["html"])
        if mail["to"] == self.bad_to:
            return mailgun(400, "'to' parameter is not a valid address. please check documentation")
        return Reply(200, {"id": f"<{self.take(mail['v:sendonce-delivery'])}@mg>", "message": "Queued. Thank you."})


def mailgun(status: int, message: str, *headers: str) -> Reply:
    return Reply(status, {"message": message}, headers)


MailgunFace.cases = (
    Case("to", mailgun(400, "to parameter is not a valid address. please check documentation"), P, "400"),
    Case("from", mailgun(400, "'from' parameter is not a valid address. please check documentation"), S, "400"),
    Case("other content", mailgun(400, "Need at least one of 'text' or 'html' parameters specified"), P, "400"),
    Case("sandbox", mailgun(403, "Free accounts are for test purposes only."), S, "403"),
    Case("no domain", mailgun(404, "Domain not found: mg.example.com"), S, "404"),
    Case("too large", mailgun(413, "Request Entity Too Large"), P, "413"),
    Case("throttled", mailgun(429, "Too many requests"), W, "429"),
    Case("throttled with a wait", mailgun(429, "Too many requests", "Retry-After: 5"), W, "429", 5),
    Case("internal", mailgun(500, "Internal Server Error"), U, "500"),
    Case("gateway", Reply(502, b"<html>"), U, "502"),
)


@dataclass
class PostmarkFace(MailFace):
    type: ClassVar[str] = "Postmark"
    secrets: ClassVar[dict[str, str]] = {"serverToken": "good-server-token"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"serverToken": "wrong-server-token"},
        "revoked": {"serverToken": "revoked-server-token"},
    }
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * (5 * 1024 * 1024 + 1)}
    batches: list[int] = field(default_factory=list)
    """How many mails each batch had."""

    def block(self) -> dict[str, Any]:
        return super().block() | {"messageStream": "broadcast"}

    def respond(self, request: Request) -> Reply:
        if request.headers["X-Postmark-Server-Token"] != "good-server-token":
            return postmark(401, 10, "Request does not contain a valid Server token.")
        if path_of(request) == "/email":
            return self._mail(json_of(request))
        assert path_of(request) == "/email/batch"
        mails = json_of(request)
        self.batches.append(len(mails))
        assert len(mails) <= 500
        assert len(request.body) <= 50 * 1024 * 1024
        return Reply(200, [self._mail(mail).body for mail in mails])

    def _mail(self, mail: dict[str, Any]) -> Reply:
        assert (mail["From"], mail["ReplyTo"]) == (MAIL["sender"], "desk@example.com")
        assert (mail["Subject"], mail["TextBody"], mail["HtmlBody"]) == (MAIL["subject"], MAIL["text"], MAIL["html"])
        assert mail["MessageStream"] == "broadcast"
        assert mail["Headers"] == [{"Name": "List-Unsubscribe", "Value": "<https://example.com/u>"}]
        if mail["To"] == self.bad_to:
            return postmark(422, 406, "You tried to send to a recipient that has been marked as inactive.")
        no = self.take(mail["Metadata"]["sendonce_delivery"])
        return Reply(200, {"To": mail["To"], "MessageID": f"pm-{no}", "ErrorCode": 0, "Message": "OK"})


def postmark(status: int, code: int, message: str, *headers: str) -> Reply:
    return Reply(status, {"ErrorCode": code, "Message": message}, headers)


PostmarkFace.cases = (
    Case("token", postmark(401, 10, "No Account or Server API tokens were supplied"), S, "10"),
    Case("inactive", postmark(422, 406, "marked as inactive"), P, "406"),
    Case("address", postmark(422, 300, "Error parsing 'To': Illegal email address"), P, "300"),
    Case("sender", postmark(422, 400, "The 'From' address you supplied is not a Sender Signature"), S, "400"),
    Case("sender unconfirmed", postmark(422, 401, "Sender signature not confirmed"), S, "401"),
    Case("credits", postmark(422, 405, "Not allowed to send: out of credits"), S, "405"),
    Case("pending", postmark(422, 412, "Account is pending approval"), S, "412"),
    Case("may not send", postmark(422, 413, "Account may not send"), S, "413"),
    Case("another code", postmark(422, 411, "Forbidden attachment type"), P, "411"),
    Case("an error inside 200", postmark(200, 406, "marked as inactive"), P, "406"),
    Case("an error with an id", Reply(200, {"ErrorCode": 406, "MessageID": "pm-0", "Message": "inactive"}), P, "406"),
    Case("an account's error inside 200", postmark(200, 405, "out of credits"), S, "405"),
    Case("throttled", postmark(429, 429, "Rate limit exceeded"), W, "429"),
    Case("throttled with a wait", postmark(429, 429, "Rate limit exceeded", "Retry-After: 9"), W, "429", 9),
    Case("maintenance", postmark(503, 100, "Offline for maintenance"), T, "100"),
    Case("unavailable", Reply(503, b"busy"), U, "503"),
    Case("internal", Reply(500, b""), U, "500"),
)


@dataclass
class ResendFace(MailFace):
    type: ClassVar[str] = "Resend"
    secrets: ClassVar[dict[str, str]] = {"apiKey": "re_good_key"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"apiKey": "re_wrong_key"},
        "revoked": {"apiKey": "re_revoked_key"},
        "restricted": {"apiKey": "re_restricted_key"},
    }
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * (40 * 1024 * 1024)}
    keys: KeyMemory = field(default_factory=KeyMemory)

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/emails"
        given = request.headers["Authorization"].removeprefix("Bearer ")
        if given == "re_restricted_key":
            return resend(401, "restricted_api_key", "This API key is restricted")
        if given != "re_good_key":
            return resend(401, "validation_error", "API key is invalid")
        mail = json_of(request)
        assert (mail["from"], mail["reply_to"]) == (MAIL["sender"], ["desk@example.com"])
        assert (mail["subject"], mail["text"], mail["html"]) == (MAIL["subject"], MAIL["text"], MAIL["html"])
        assert mail["headers"] == {"List-Unsubscribe": "<https://example.com/u>"}
        if mail["to"] == [self.bad_to]:
            return resend(422, "validation_error", "Invalid `to` field.")
        return self._once(request.headers["Idempotency-Key"], request.body, mail["tags"][0]["value"])

    def _once(self, key: str, body: bytes, delivery: str) -> Reply:
        known = self.keys.find(key, self.now)
        if known is not None and known[0] != body:
            return resend(409, "invalid_idempotent_request", "Same idempotency key used with a different payload")
        if known is not None:
            return known[1]
        reply = Reply(200, {"id": f"re-{self.take(delivery)}"})
        self.keys.known[key] = (self.now, body, reply)
        return reply


def resend(status: int, name: str, message: str, *headers: str) -> Reply:
    return Reply(status, {"statusCode": status, "name": name, "message": message}, headers)


ResendFace.cases = (
    Case("address", resend(422, "validation_error", "Invalid `to` field"), P, "validation_error"),
    Case("address as 400", resend(400, "validation_error", "Invalid `to` field"), P, "validation_error"),
    Case("domain", resend(403, "validation_error", "The example.com domain is not verified"), S, "validation_error"),
    Case("bad key", resend(403, "invalid_api_key", "API key is invalid"), S, "invalid_api_key"),
    Case("suspended", resend(403, "suspended_api_key", "suspended"), S, "suspended_api_key"),
    Case("sender", resend(422, "invalid_from_address", "Invalid `from` field"), S, "invalid_from_address"),
    Case("other payload", resend(409, "invalid_idempotent_request", "x"), U, "invalid_idempotent_request"),
    Case("still running", resend(409, "concurrent_idempotent_requests", "x"), U, "concurrent_idempotent_requests", 5),
    Case("throttled", resend(429, "rate_limit_exceeded", "slow"), W, "rate_limit_exceeded"),
    Case("wait", resend(429, "rate_limit_exceeded", "slow", "retry-after: 2"), W, "rate_limit_exceeded", 2),
    Case("day's quota", resend(429, "daily_quota_exceeded", "enough"), W, "daily_quota_exceeded", 3600),
    Case("month's quota", resend(429, "monthly_quota_exceeded", "enough"), W, "monthly_quota_exceeded", 3600),
    Case("internal", resend(500, "internal_server_error", "oops"), U, "internal_server_error"),
)

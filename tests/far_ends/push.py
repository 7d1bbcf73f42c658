"""To devices and endpoints: FCM, Web Push, Standard Webhooks."""

from __future__ import annotations

import hmac
import json
import time
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from tests.far_ends.face import Case, Face, KeyMemory, P, Reply, Request, S, T, U, W, json_of, path_of

PUSH: dict[str, Any] = {"sender": None, "reply_to": None, "subject": "Sale", "text": "Today, Ann ✨", "html": None}


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@cache
def ec_key(_who: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


@dataclass
class FcmFace(Face):
    type: ClassVar[str] = "FCM"
    channel: ClassVar[str] = "Push"
    secrets: ClassVar[dict[str, str]] = {"serviceAccount": ""}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"private_key_id": "another"},
        "revoked": {"client_email": "gone@example.com"},
    }
    good_to: ClassVar[str] = "device-token"
    bad_to: ClassVar[str] = "gone-device-token"
    content: ClassVar[dict[str, Any]] = PUSH
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 4096}
    tokens: list[str] = field(default_factory=list)

    def account(self, **changes: str) -> bytes:
        wire = {
            "type": "service_account",
            "project_id": "shop-12",
            "private_key_id": "k1",
            "private_key": pem(rsa_key()),
            "client_email": "sender@example.com",
            "token_uri": f"http://127.0.0.1:{self.port}/token",
        }
        return json.dumps(wire | changes).encode()

    def secret(self) -> dict[str, bytes]:
        return {"serviceAccount": self.account()}

    def respond(self, request: Request) -> Reply:
        if path_of(request) == "/token":
            return self._token(request)
        assert path_of(request) == "/v1/projects/shop-12/messages:send"
        if not self.tokens or request.headers["Authorization"] != f"Bearer {self.tokens[-1]}":
            return fcm(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", code=None)
        message = json_of(request)["message"]
        assert message["notification"] == {"title": "Sale", "body": PUSH["text"]}
        if message["token"] == self.bad_to:
            return fcm(404, "NOT_FOUND", "Requested entity was not found.", code="UNREGISTERED")
        no = self.take(message["data"]["sendonce_delivery"])
        return Reply(200, {"name": f"projects/shop-12/messages/{no}"})

    def _token(self, request: Request) -> Reply:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        claims = jwt.decode(
            form["assertion"], rsa_key().public_key(), ["RS256"], audience=f"http://127.0.0.1:{self.port}/token"
        )
        assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
        if jwt.get_unverified_header(form["assertion"])["kid"] != "k1" or claims["iss"] != "sender@example.com":
            return Reply(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        self.tokens.append(f"access-{len(self.tokens)}")
        return Reply(200, {"access_token": self.tokens[-1], "expires_in": 3599, "token_type": "Bearer"})


def fcm(status: int, state: str, message: str, *headers: str, code: str | None = "", field: str = "") -> Reply:
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    details: list[dict[str, Any]] = []
    if code is not None:
        details.append({"@type": kind, "errorCode": code or state})
    if field:
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field}]})
    body = {"error": {"code": status, "message": message, "status": state, "details": details}}
    return Reply(status, body, headers)


_BAD = "The registration token is not a valid FCM registration token"
FcmFace.cases = (
    Case(
        "unregistered", fcm(404, "NOT_FOUND", "Requested entity was not found.", code="UNREGISTERED"), P, "UNREGISTERED"
    ),
    Case("no token", fcm(400, "INVALID_ARGUMENT", _BAD, field="message.token"), P, "INVALID_ARGUMENT"),
    Case("content", fcm(400, "INVALID_ARGUMENT", "Invalid JSON payload", field="message.data"), P, "INVALID_ARGUMENT"),
    Case("another project", fcm(403, "PERMISSION_DENIED", "x", code="SENDER_ID_MISMATCH"), P, "SENDER_ID_MISMATCH"),
    Case("apple", fcm(401, "UNAUTHENTICATED", "x", code="THIRD_PARTY_AUTH_ERROR"), S, "THIRD_PARTY_AUTH_ERROR"),
    Case("no right", fcm(403, "PERMISSION_DENIED", "x", code=None), S, "PERMISSION_DENIED"),
    Case("throttled", fcm(429, "RESOURCE_EXHAUSTED", "x", code="QUOTA_EXCEEDED"), W, "QUOTA_EXCEEDED", 60),
    Case(
        "throttled with a wait",
        fcm(429, "RESOURCE_EXHAUSTED", "x", "Retry-After: 8", code="QUOTA_EXCEEDED"),
        W,
        "QUOTA_EXCEEDED",
        8,
    ),
    Case("no project", fcm(404, "NOT_FOUND", "Project 'x' not found or deleted.", code=None), S, "NOT_FOUND"),
    Case("unavailable", fcm(503, "UNAVAILABLE", "x", "Retry-After: 8"), U, "UNAVAILABLE", 8),
    Case("internal", fcm(500, "INTERNAL", "x"), U, "INTERNAL"),
)


def opened(body: bytes, key: ec.EllipticCurvePrivateKey, secret: bytes) -> bytes:
    """What a browser does with a payload: RFC 8291, section 3, over RFC 8188, section 2."""
    salt, size, rest = body[:16], body[20], body[21:]
    sender, sealed = rest[:size], rest[size:]
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
    first = hmac.digest(
        hmac.digest(secret, shared, "sha256"), b"WebPush: info\0" + point(key) + sender + b"\1", "sha256"
    )
    second = hmac.digest(salt, first, "sha256")
    content_key = hmac.digest(second, b"Content-Encoding: aes128gcm\0\1", "sha256")[:16]
    nonce = hmac.digest(second, b"Content-Encoding: nonce\0\1", "sha256")[:12]
    plain = AESGCM(content_key).decrypt(nonce, sealed, None)
    assert plain.endswith(b"\2")
    return plain[:-1]


@dataclass
class WebPushFace(Face):
    type: ClassVar[str] = "WebPush"
    channel: ClassVar[str] = "WebPush"
    secrets: ClassVar[dict[str, str]] = {"vapidPrivateKey": ""}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {"wrong": {}}
    good_to: ClassVar[str] = "/push/ann"
    bad_to: ClassVar[str] = "/push/gone"
    content: ClassVar[dict[str, Any]] = PUSH
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 3990}
    per_recipient: ClassVar[bool] = True
    secret_16: ClassVar[bytes] = b"sixteen bytes...!"[:16]

    def block(self) -> dict[str, Any]:
        return {"subject": "mailto:push@example.com", "allowedHosts": ["127.0.0.1", "nobody.invalid"], "ttlSeconds": 60}

    def secret(self) -> dict[str, bytes]:
        number = ec_key("vapid").private_numbers().private_value
        return {"vapidPrivateKey": base64url(number.to_bytes(32, "big")).encode()}

    def subscription(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        keys = {"p256dh": base64url(point(ec_key("browser"))), "auth": base64url(self.secret_16)}
        return json.dumps({"endpoint": f"{scheme}://{host}:{self.port}{path}", "expirationTime": None, "keys": keys})

    def to(self) -> str:
        return self.subscription(self.good_to)

    def refused_to(self) -> str:
        return self.subscription(self.bad_to)

    def respond(self, request: Request) -> Reply:
        said = request.headers["Authorization"].removeprefix("vapid ")
        token, key = (part.strip().partition("=")[2] for part in said.split(","))
        if urlsafe_b64decode(key + "==") != point(ec_key("vapid")):
            return Reply(401, {"code": 401, "errno": 109, "error": "Unauthorized", "message": "bad VAPID"})
        claims = jwt.decode(token, ec_key("vapid").public_key(), ["ES256"], audience=f"http://127.0.0.1:{self.port}")
        assert claims["sub"] == "mailto:push@example.com"
        assert claims["exp"] - time.time() < 86_400
        assert (request.headers["TTL"], request.headers["Urgency"]) == ("60", "normal")
        assert request.headers["Content-Encoding"] == "aes128gcm"
        if path_of(request) == self.bad_to:
            return Reply(410, b"push subscription has unsubscribed or expired.")
        plain = json.loads(opened(request.body, ec_key("browser"), self.secret_16))
        assert (plain["title"], plain["body"]) == ("Sale", PUSH["text"])
        return Reply(201, b"", (f"Location: https://push.example.com/m/{self.take(plain['id'])}",))


WebPushFace.cases = (
    Case("gone", Reply(410, b"gone"), P, "410"),
    Case("never was", Reply(404, b"invalid token"), P, "404"),
    Case("too large", Reply(413, b"too large"), P, "413"),
    Case("bad request", Reply(400, b"bad"), P, "400"),
    Case("moved", Reply(301, b"", ("Location: https://example.com/",)), P, "301"),
    Case("another key", Reply(403, b"the VAPID credentials do not correspond to the ones used to subscribe"), P, "403"),
    Case("another key at Apple", Reply(400, {"reason": "VapidPkHashMismatch"}), P, "400"),
    Case("vapid", Reply(401, b"Unauthorized"), S, "401"),
    Case("forbidden", Reply(403, {"reason": "BadJwtToken"}), S, "403"),
    Case("throttled", Reply(429, b"slow"), T, "429"),
    Case("throttled with a wait", Reply(429, b"slow", ("Retry-After: 120",)), T, "429", 120),
    Case("misdirected", Reply(421, b""), T, "421"),
    Case("half a request", Reply(408, b""), U, "408"),
    Case("unavailable", Reply(503, b"busy", ("Retry-After: 5",)), U, "503", 5),
    Case("internal", Reply(500, b""), U, "500"),
    Case("gateway", Reply(502, b""), U, "502"),
)


@dataclass
class StandardWebhooksFace(Face):
    type: ClassVar[str] = "StandardWebhooks"
    channel: ClassVar[str] = "Webhook"
    secrets: ClassVar[dict[str, str]] = {
        "signingSecret": "whsec_" + b64encode(b"n" * 32).decode(),
        "oldSigningSecret": "whsec_" + b64encode(b"o" * 24).decode(),
    }
    optional: ClassVar[frozenset[str]] = frozenset({"oldSigningSecret"})
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {}
    good_to: ClassVar[str] = "/hook?tenant=1"
    bad_to: ClassVar[str] = "/gone"
    content: ClassVar[dict[str, Any]] = PUSH
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 20_000}
    per_recipient: ClassVar[bool] = True
    keys: KeyMemory = field(default_factory=KeyMemory)

    def block(self) -> dict[str, Any]:
        return {"allowedHosts": ["127.0.0.1", "nobody.invalid"], "keyWindowSeconds": 86_400, "eventType": "sale"}

    def to(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.good_to}"

    def refused_to(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.bad_to}"

    def respond(self, request: Request) -> Reply:
        key, moment = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        assert abs(int(moment) - time.time()) < 300
        signed = f"{key}.{moment}.".encode() + request.body
        secrets = [
            b64decode(self.secrets[name].removeprefix("whsec_")) for name in ("signingSecret", "oldSigningSecret")
        ]
        ours = [f"v1,{b64encode(hmac.digest(one, signed, 'sha256')).decode()}" for one in secrets]
        if request.headers["webhook-signature"].split(" ") != ours:
            return Reply(401, b"no matching signature found")
        if path_of(request) == self.bad_to:
            return Reply(410, b"this endpoint is closed")
        assert path_of(request) == self.good_to
        if self.keys.find(key, self.now) is None:
            event = json_of(request)
            assert (event["type"], event["data"]["text"]) == ("sale", PUSH["text"])
            self.take(event["data"]["id"])
            self.keys.known[key] = (self.now, request.body, Reply(204))
        return Reply(204)


StandardWebhooksFace.cases = (
    Case("closed", Reply(410, b"closed"), P, "410"),
    Case("not there", Reply(404, b"no"), P, "404"),
    Case("refused", Reply(400, b"what"), P, "400"),
    Case("not for us", Reply(401, b"no matching signature"), P, "401"),
    Case("not implemented", Reply(501, b"what"), P, "501"),
    Case("moved", Reply(302, b"", ("Location: https://example.com/",)), P, "302"),
    Case("throttled", Reply(429, b"slow"), T, "429"),
    Case("throttled with a wait", Reply(429, b"slow", ("Retry-After: 12",)), T, "429", 12),
    Case("too early", Reply(425, b""), T, "425"),
    Case("conflict", Reply(409, b"busy with it"), U, "409"),
    Case("internal", Reply(500, b"oops"), U, "500"),
    Case("gateway", Reply(502, b""), U, "502"),
    Case("unavailable", Reply(503, b"", ("Retry-After: 3",)), U, "503", 3),
    Case("gateway time-out", Reply(504, b""), U, "504"),
)

"""Firebase Cloud Messaging, HTTP v1, with access tokens of a service account (RFC 7523)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import ClassVar

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sendonce_store.spec.named_push import FcmProvider
from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import SECRET_FIELD, Api, Call, Credentials
from sendonce_worker.providers.api.bodies import JSON, at_most, form_body, json_body
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, member, seconds, text
from sendonce_worker.providers.api.table import P, Reading, Row, S, W, classify
from sendonce_worker.providers.api.tokens import Token
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import Kind, ProviderConfigError, SendError, send_error
from sendonce_worker.providers.http1.connection import Answer

LARGEST = 4096
_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_TABLE = (Row(S, "the service account's key is not good (any more)", status=(400, 401, 403)),)


class ServiceAccount:
    """The JSON file of a service account's key; see ``Grant``."""

    def __init__(self, document: str) -> None:
        """Raises ``ProviderConfigError``."""
        try:
            account = json.loads(document)
            self._email, self.project = str(account["client_email"]), str(account["project_id"])
            self.url, self._key_id = str(account["token_uri"]), str(account["private_key_id"])
            key = load_pem_private_key(str(account["private_key"]).encode(), None)
        except (ValueError, KeyError, TypeError) as error:
            why = "is not the JSON file of a service account's key, as the console gives it"
            raise ProviderConfigError(SECRET_FIELD, f"serviceAccount {why}: {type(error).__name__} {error}") from error
        if not isinstance(key, RSAPrivateKey):
            raise ProviderConfigError(SECRET_FIELD, "the private_key in serviceAccount must be an RSA key")
        self._key = key

    def request(self, now: datetime) -> bytes:
        """See ``Grant``."""
        claims = {"iss": self._email, "scope": _SCOPE, "aud": self.url, "iat": now, "exp": now + timedelta(hours=1)}
        signed = jwt.encode(claims, self._key, "RS256", {"kid": self._key_id})
        return form_body({"grant_type": _GRANT, "assertion": signed})

    def read(self, answer: Answer) -> Token | SendError:
        """See ``Grant``."""
        found = json_object(answer)
        token, lasts = text(found, "access_token"), seconds(found, "expires_in")
        if answer.status == 200 and token and lasts:  # noqa: PLR2004 - HTTP
            return Token(token, lasts)
        words = f"{text(found, 'error')} {text(found, 'error_description')}".strip()
        error = classify(_TOKEN_TABLE, answer, Reading(text(found, "error"), words))
        if isinstance(error, Accepted):
            return send_error(Kind.TEMPORARY, "token_failed", f"no access token: {answer.status} {words}")
        if error.kind is Kind.ACCOUNT:
            return error
        kind = Kind.RATE_LIMITED if error.kind is Kind.RATE_LIMITED else Kind.TEMPORARY
        return send_error(kind, "token_failed", f"no access token: {error.message}", error.retry_after)


class Fcm(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="FCM",
        credentials=("serviceAccount",),
        keys="None (`collapse_key` is no protection): a lost answer, 500 and 503 are `uncertain`.",
        before="4xx with an error code.",
        batch="There is none over HTTP v1.",
        sizes="4,096 bytes of notification and data.",
        pace="600,000 a minute per project.",
        metadata="`data`: sendonce_delivery.",
        probe="A send with `validate_only: true` to any token answers 400 or 404, and 401 or 403 for bad credentials.",
        source="firebase.google.com/docs (ErrorCode, projects.messages/send, scale-fcm, throttling-and-quotas)",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "too many requests", status=(429,), wait=60.0),
        Row(P, "the app is not on this device any more", code="UNREGISTERED"),
        Row(P, "the token is another project's (all of them: the wrong project)", code="SENDER_ID_MISMATCH"),
        Row(P, "not a token", code="INVALID_ARGUMENT", words=r"message\.token|registration token"),
        Row(P, "the content", code="INVALID_ARGUMENT"),
        Row(S, "credentials, rights, or the certificate for Apple", code="THIRD_PARTY_AUTH_ERROR|UNAUTHENTICATED"),
        Row(S, "the service account may not send, or the API is off", code="PERMISSION_DENIED"),
        Row(S, "no such project", status=(404,), words="project|requested url"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = spec.fcm or FcmProvider()
        account = ServiceAccount(credentials.text("serviceAccount"))
        self.grant = account
        self.origin = block.base_url or "https://fcm.googleapis.com"
        self.headers = {"Content-Type": JSON}
        self._path = f"/v1/projects/{block.project_id or account.project}/messages:send"

    def call(self, message: Message, _now: datetime, /) -> Call:
        """See ``Api``."""
        parts = {"title": message.content.subject, "body": message.content.text}
        shown = {name: part for name, part in parts.items() if part}
        content = {"notification": shown, "data": {"sendonce_delivery": message.delivery_id}}
        at_most(len(json_body(content)), LARGEST, "bytes of notification and data", "FCM")
        return Call(self._path, json_body({"message": content | {"token": message.to}}))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        name = text(found, "name")
        if answer.status == 200 and name:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=name)
        listed = member(found, "error", "details")
        details = listed if isinstance(listed, list) else []
        codes = [text(one, "errorCode") for one in details]
        fields = [text(one, "fieldViolations", 0, "field") for one in details]
        code = next(filter(None, codes), "") or text(found, "error", "status")
        words = [text(found, "error", "message"), *filter(None, fields)]
        return Reading(code, " ".join(words))


API = Fcm

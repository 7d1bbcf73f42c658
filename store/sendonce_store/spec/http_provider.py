"""`spec.http` of a provider: any JSON or form API, by configuration."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sendonce_store.spec.base import Bool, HeaderName, Int, SpecModel
from sendonce_store.spec.metadata import SecretRef
from sendonce_store.spec.provider_rules import ERROR_RULE_RULES, HTTP_RULES
from sendonce_store.spec.rules import Rule

__all__ = ["BodyFormat", "ErrorClass", "ErrorRule", "HttpMethod", "HttpProvider", "HttpTls"]

ENDPOINT_URL = r"^https?://\S.*$"
MESSAGE_ID_PATH = r"^(header:[-!#$%&'*+.^_`|~0-9A-Za-z]+|[^.\s]+(\.[^.\s]+)*)$"


class HttpMethod(StrEnum):
    """Request method."""

    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    GET = "GET"


class BodyFormat(StrEnum):
    """What the rendered body is, which decides Content-Type and checking."""

    JSON = "JSON"
    FORM = "Form"
    TEXT = "Text"


class ErrorClass(StrEnum):
    """What an answer means for the delivery."""

    PERMANENT = "Permanent"
    TRANSIENT = "Transient"
    RATE_LIMITED = "RateLimited"
    ACCOUNT = "Account"
    UNKNOWN = "Unknown"
    ALREADY_ACCEPTED = "AlreadyAccepted"


class ErrorRule(SpecModel):
    """Tells what an answer means; the first rule that matches counts."""

    status: Int | None = Field(default=None, ge=100, le=599, description="HTTP status; absent: any.")
    code: str | None = Field(
        default=None, min_length=1, max_length=256, description="Text that occurs in the body; absent: any."
    )
    as_: ErrorClass = Field(
        description="Permanent (dead letter), Transient (not accepted, try again), RateLimited (wait, uses up no "
        "attempt), Account (stops the campaign), Unknown (may have been accepted) or AlreadyAccepted (sent).",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = ERROR_RULE_RULES


class HttpTls(SpecModel):
    """How the server's certificate is checked."""

    ca_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret whose key ca.crt holds the CA certificates to trust (PEM); absent: the public ones.",
    )
    insecure_skip_verify: Bool = Field(
        default=False,
        description="Accept any certificate. Anybody on the way can then read messages and credentials.",
    )


class HttpProvider(SpecModel):
    """An HTTP API. Each key of the credentials Secret can be used in header templates as `{{ secret.NAME }}`."""

    url: Annotated[str, Field(pattern=ENDPOINT_URL, max_length=2048)] = Field(
        description="URL of the endpoint: a Jinja template; its host is the same for all messages.",
    )
    method: HttpMethod = Field(default=HttpMethod.POST, description="Request method: POST, PUT, PATCH or GET.")
    headers: dict[HeaderName, Annotated[str, Field(max_length=4096)]] = Field(
        default={},
        max_length=50,
        description="Request headers: Jinja templates, such as `Bearer {{ secret.token }}`.",
    )
    body_template: str | None = Field(
        default=None,
        max_length=32768,
        description="Jinja template of the request body, in the form that bodyFormat says. Absent: to, subject, text, "
        "html and key as JSON or Form, the text as Text.",
    )
    body_format: BodyFormat = Field(default=BodyFormat.JSON, description="What the body is: JSON, Form or Text.")
    message_id_path: Annotated[str, Field(pattern=MESSAGE_ID_PATH, max_length=256)] | None = Field(
        default=None,
        description="Where the answer has the message id: a path in the JSON body, such as data.id or messages.0.id, "
        "or a header, such as header:X-Message-Id.",
    )
    idempotency_key_header: HeaderName | None = Field(
        default=None,
        description="Header that carries the idempotency key, if the API honours one.",
    )
    key_window_seconds: Int | None = Field(
        default=None,
        ge=1,
        le=31_536_000,
        description="Seconds for which the API remembers a key, such as 86400; a repeat is safe only within them.",
    )
    error_rules: tuple[ErrorRule, ...] = Field(
        default=(),
        max_length=50,
        description="What certain answers mean; without a matching rule the HTTP status decides.",
    )
    tls: HttpTls = Field(default=HttpTls(), description="How the server's certificate is checked.")

    RULES: ClassVar[tuple[Rule[Any], ...]] = HTTP_RULES

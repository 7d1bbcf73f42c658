"""The settings of a far end: one frozen object, read at the entry point and passed down.

In: options of the command line, or keyword arguments of a test. Out: ``SimulatorSettings``.
"""

import ssl
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sendonce_cli.simulate.behaviour import Behaviour, SettingsError


class Style(StrEnum):
    """How HTTP answers look."""

    PLAIN = "plain"
    """200 ``{"id": …}``, and the same again for a repeat (as Resend does)."""
    LINE = "line"
    """200 ``{"sentMessages": [{"id": …}]}``; a repeat gets 409 with the request id of the accepted
    one; a key in use gets 429, since 409 would claim that it was accepted (as LINE does)."""
    TWILIO = "twilio"
    """201 ``{"sid": …}``, and errors with numbers as Twilio's; it knows no keys."""
    POSTMARK = "postmark"
    """200 ``{"ErrorCode": 0, "MessageID": …}``, at ``/email/batch`` a list of such answers; no keys."""
    FCM = "fcm"
    """200 ``{"name": …}``, and errors as Google's; ``/token`` gives access tokens; no keys."""
    AUTO = "auto"
    """A named far end's where the path is its own, else plain: several far ends at once."""


class SmtpTls(StrEnum):
    """TLS on the SMTP port; anything but ``NONE`` needs a certificate."""

    NONE = "none"
    STARTTLS = "starttls"
    IMPLICIT = "implicit"


class RefuseAt(StrEnum):
    """When SMTP refuses."""

    DATA = "data"
    """After the final dot: every row of the ledger has its key."""
    RCPT = "rcpt"
    """At RCPT, as most servers do: the key is not known yet, so that chances go by recipient and
    refused rows have no key."""


class ChanceBy(StrEnum):
    """What identifies the attempts of one message for the seeded chances."""

    KEY = "key"
    RECIPIENT = "recipient"
    """Repeatable even if the keys differ from run to run (a new store has a new id)."""


_PATHS = {
    "/v2/bot/message/push": Style.LINE,
    "/Messages.json": Style.TWILIO,
    "/email": Style.POSTMARK,
    "/email/batch": Style.POSTMARK,
    "/messages:send": Style.FCM,
    "/token": Style.FCM,
}
"""How the paths end at which a far end takes messages, or gives what they need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorSettings:
    """A far end. Ports of 0 take a free one; secrets are compared, never printed."""

    ledger: Path
    append: bool = False
    """Go on with an existing ledger: its attempts and accepted keys are remembered."""
    host: str = "127.0.0.1"
    http_port: int = 0
    smtp_port: int = 0
    control_port: int = 0
    """Serves /ledger and /control alone, and stays up in every outage."""
    seed: int = 0
    chance_by: ChanceBy = ChanceBy.KEY
    behaviour: Behaviour = field(default_factory=Behaviour)
    overrides: tuple[tuple[str, str], ...] = ()
    """Pairs (glob over the address, fate), see ``fate``; the first match wins."""
    style: Style = Style.PLAIN
    key_headers: tuple[str, ...] = ("Idempotency-Key",)
    """The first of these headers that is present is the key."""
    to_fields: tuple[str, ...] = ("to",)
    """Where the recipient stands in a JSON or form body: dotted paths, the first found counts."""
    conflict_status: int = 409
    """HTTP status for a known key with another payload: 409 or 422."""
    refuse_at: RefuseAt = RefuseAt.DATA
    token: str | None = field(default=None, repr=False)
    """If set, HTTP needs ``Authorization: Bearer TOKEN``."""
    smtp_user: str | None = None
    """If set, SMTP needs AUTH PLAIN or LOGIN."""
    smtp_password: str = field(default="", repr=False)
    tls_certificate: Path | None = None
    """PEM file: certificate chain."""
    tls_key: Path | None = None
    """PEM file; None if the key is in the certificate's file."""
    https: bool = False
    smtp_tls: SmtpTls = SmtpTls.NONE
    max_bytes: int = 10 * 1024 * 1024
    """Largest HTTP body and SMTP message."""
    drain_seconds: float = 5.0
    """How long a stop waits for hand-offs that are being decided."""

    def __post_init__(self) -> None:
        """Raise ``SettingsError`` for settings that do not fit together."""
        if self.conflict_status not in (409, 422):
            raise SettingsError("conflict_status", f"{self.conflict_status} is not 409 or 422")
        if not self.key_headers or not self.to_fields:
            raise SettingsError("key_headers, to_fields", "at least one name each is needed")
        if self.tls_certificate is None and (self.https or self.smtp_tls is not SmtpTls.NONE):
            raise SettingsError("tls_certificate", "https and smtp_tls need a certificate")
        if self.max_bytes < 1:
            raise SettingsError("max_bytes", f"{self.max_bytes} is below 1")

    def style_at(self, path: str) -> Style:
        """Return how answers look at a path: never ``AUTO``."""
        if self.style is not Style.AUTO:
            return self.style
        return next((style for ending, style in _PATHS.items() if path.endswith(ending)), Style.PLAIN)

    def tls(self) -> ssl.SSLContext | None:
        """Return the server's TLS context; raises ``SettingsError`` for unreadable files."""
        if self.tls_certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.tls_certificate, self.tls_key)
        except (OSError, ssl.SSLError) as error:
            problem = f"cannot load {self.tls_certificate}: {error}"
            raise SettingsError("tls_certificate", problem) from error
        return context

"""`spec.smtp` of a provider."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import Bool, Int, SpecModel
from sendonce_store.spec.metadata import SecretRef

__all__ = ["SmtpProvider", "SmtpTls"]

HOST = r"^[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?$|^\[?[0-9A-Fa-f:.]+\]?$"
HELO = r"^[!-~]+$"


class SmtpTls(StrEnum):
    """How the connection is encrypted."""

    NONE = "None"
    START_TLS = "StartTLS"
    TLS = "TLS"


class SmtpProvider(SpecModel):
    """An SMTP server. The credentials Secret has the keys `username` and `password`; without it there is no AUTH."""

    host: Annotated[str, Field(pattern=HOST, max_length=253)] = Field(description="Name or address of the server.")
    port: Int = Field(default=587, ge=1, le=65_535, description="Port of the server.")
    tls: SmtpTls = Field(
        default=SmtpTls.START_TLS,
        description="StartTLS (required, never skipped), TLS (from the first byte, usually port 465) or None.",
    )
    helo_name: Annotated[str, Field(pattern=HELO, max_length=253)] | None = Field(
        default=None,
        description="Name given in EHLO; absent: the worker's address in brackets.",
    )
    ca_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret whose key ca.crt holds the CA certificates to trust (PEM); absent: the public ones.",
    )
    insecure_skip_verify: Bool = Field(
        default=False,
        description="Accept any certificate. Anybody on the way can then read messages and credentials.",
    )

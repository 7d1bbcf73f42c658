"""Signature Version 4 of AWS for one POST with a body, without a query.

In: keys, region and service, once; then bodies and the time. Out: the header lines that carry the signature. Checked
against AWS's own test vectors. Source: "Create a signed AWS API request" in the IAM user guide. It is ours because the
libraries that sign bring an SDK or an HTTP client along.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """An access key; temporary ones have a session token."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class Signer:
    """Signs requests to one path of one host."""

    def __init__(self, keys: AwsKeys, region: str, service: str, host: str, path: str) -> None:
        """``host`` as in the Host header, ``path`` percent-encoded."""
        self._keys = keys
        self._scope = f"{region}/{service}/aws4_request"
        self._parts = (region, service, "aws4_request")
        self._host = host
        self._path = path
        self._day = ""
        self._key = b""

    def sign(self, body: bytes, now: datetime, **headers: str) -> tuple[tuple[str, str], ...]:
        """Return the lines to add; ``headers`` are further ones to be signed, by name in small letters with ``_``."""
        moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        token = self._keys.session_token
        own = {"host": self._host, "x-amz-date": moment} | ({"x-amz-security-token": token} if token else {})
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        names = ";".join(sorted(own))
        canonical = "".join(f"{name}:{' '.join(own[name].split())}\n" for name in sorted(own))
        digest = hashlib.sha256(body).hexdigest()
        request = f"POST\n{self._path}\n\n{canonical}\n{names}\n{digest}"
        signature = self._signature(moment, request)
        credential = f"{self._keys.access_key_id}/{moment[:8]}/{self._scope}"
        value = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        ours = [(name, line) for name, line in own.items() if name.startswith("x-amz-")]
        return (*ours, ("Authorization", value))

    def _signature(self, moment: str, request: str) -> str:
        hashed = hashlib.sha256(request.encode()).hexdigest()
        to_sign = f"{_ALGORITHM}\n{moment}\n{moment[:8]}/{self._scope}\n{hashed}"
        return hmac.new(self._key_of(moment[:8]), to_sign.encode(), hashlib.sha256).hexdigest()

    def _key_of(self, day: str) -> bytes:
        """The key of a day, made once a day."""
        if day != self._day:
            key = f"AWS4{self._keys.secret_access_key}".encode()
            for part in (day, *self._parts):
                key = hmac.new(key, part.encode(), hashlib.sha256).digest()
            self._day, self._key = day, key
        return self._key

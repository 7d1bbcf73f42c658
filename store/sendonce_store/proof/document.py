"""A proof as JSON, and its digest: a Proof in, a document out, and back only so far as to tell that nobody changed it.

The digest is the SHA-256 of the canonical JSON (RFC 8785: keys sorted, no white space, UTF-8; numbers are integers) of
everything but the digest itself. It is the same in all forms of a report, so that a printed page can be held against
the document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from sendonce_store.proof.building import Proof
from sendonce_store.proof.words import BASIS
from sendonce_store.spec.base import wire_name

__all__ = ["KIND", "TamperedError", "checked", "digest_of", "to_data", "to_json"]

KIND = "sendonce.dev/proof/v1"
DIGEST = "digest"
_PREFIX = "sha256:"


class TamperedError(Exception):
    """What was read is no proof, or not as it was made; the message says which."""


def to_data(proof: Proof) -> dict[str, Any]:
    """The document as plain data, with its digest last."""
    content = {"kind": KIND, "basis": BASIS, **_plain(proof)}
    return {**content, DIGEST: digest_of(content)}


def to_json(proof: Proof) -> bytes:
    """The document, indented for people; the digest does not depend on that."""
    return json.dumps(to_data(proof), ensure_ascii=False, indent=2).encode() + b"\n"


def digest_of(content: Mapping[str, Any]) -> str:
    """`sha256:` and the hexadecimal digest of the canonical form."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # a document that was tampered with may hold half of a character; nothing of ours does
    return _PREFIX + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def checked(text: bytes) -> dict[str, Any]:
    """Read a document and compare its digest. Raises TamperedError."""
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_float=_no_float, parse_constant=_no_float)
    except (ValueError, RecursionError) as error:
        raise TamperedError(f"this is no proof in JSON: {error}") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise TamperedError(f"this is no proof in JSON: its kind is not {KIND}")
    content = {name: value for name, value in found.items() if name != DIGEST}
    if found.get(DIGEST) != digest_of(content):
        raise TamperedError(f"digest: this proof was changed after it was made; its content has {digest_of(content)}")
    return found


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    if is_dataclass(value) and not isinstance(value, type):
        return {wire_name(field.name): _plain(getattr(value, field.name)) for field in fields(value)} | _verdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return moment(value) if isinstance(value, datetime) else value


def _verdict(value: object) -> dict[str, bool]:
    return {"holds": holds} if isinstance(holds := getattr(value, "holds", None), bool) else {}


def moment(when: datetime) -> str:
    """`2026-12-01T09:30:00Z`."""
    return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A name that is given twice would be read as one thing here, and as another elsewhere."""
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a name is given twice in one object"
        raise ValueError(message)
    return found


def _no_float(text: str) -> NoReturn:
    message = f"{text} is no integer"
    raise ValueError(message)

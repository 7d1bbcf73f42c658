"""What every model of the spec is made of: the base class and the checked scalars.

Flows in: plain data as `documents` reads it (or keyword arguments in Python). Flows out: frozen models, camelCase on
the wire and snake_case in Python, every field bounded and described, because CRDs and reference pages are generated
from them.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Self
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from sendonce_store.spec.nearest import did_you_mean
from sendonce_store.spec.rules import Rule, enforce

__all__ = [
    "ATOMIC",
    "PATTERN_WORDS",
    "Bool",
    "DataKey",
    "DnsLabel",
    "DnsSubdomain",
    "HeaderName",
    "Int",
    "LanguageTag",
    "ResourceLabel",
    "SpecModel",
    "TimeOfDay",
    "Timestamp",
    "Timezone",
    "list_map",
    "wire_name",
]

_WIRE_NAMES = {
    "account_sid": "accountSID",
    "base_url": "baseURL",
    "endpoint_url": "endpointURL",
    "inline_css": "inlineCSS",
    "messaging_service_sid": "messagingServiceSID",
    "project_id": "projectID",
    "status_callback_url": "statusCallbackURL",
}


def list_map(key: str) -> JsonDict:
    """Return what makes a list of objects a map by one of their fields: Kubernetes then merges it entry by entry."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


ATOMIC: JsonDict = {"x-kubernetes-map-type": "atomic"}
"""What makes an object one value: Kubernetes then never merges fields of two authors, such as half of a reference."""


def wire_name(name: str) -> str:
    """Turn a Python name into the one on the wire: `reply_to` → `replyTo`, `from_` → `from`."""
    return _WIRE_NAMES.get(name) or to_camel(name.rstrip("_"))


class SpecModel(BaseModel):
    """A frozen object of the spec; unknown fields are refused, and null counts as absent."""

    model_config = ConfigDict(
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = ()
    """The rules over several fields of this object."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        # as the API server does for a field with a default; for the others it spares people a type error
        if isinstance(data, Mapping):
            return {key: value for key, value in data.items() if value is not None}
        return data

    @model_validator(mode="after")
    def _rules_hold(self) -> Self:
        return enforce(self.RULES, self)

    def to_wire(self) -> dict[str, JsonValue]:
        """Return plain JSON data with the names on the wire; absent fields are left out, defaults are not."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def from_wire(cls, data: object) -> Self:
        """Read plain JSON data with the names on the wire; raises pydantic.ValidationError."""
        return cls.model_validate(data, by_alias=True, by_name=False)


# --- scalars ---------------------------------------------------------------------------------------------------------
Int = Annotated[int, Strict()]
Bool = Annotated[bool, Strict()]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL = rf"^{_LABEL}$"
DNS_SUBDOMAIN = rf"^{_LABEL}(\.{_LABEL})*$"
DATA_KEY = r"^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$"
RESOURCE_LABEL = r"^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$"
HEADER_NAME = r"^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"
# language, script, region and variants of RFC 5646 §2.1; no extensions
LANGUAGE_TAG = r"^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*$"
MEDIA_TYPE = r"^[A-Za-z0-9][-A-Za-z0-9.+_]*/[A-Za-z0-9][-A-Za-z0-9.+_]*$"
_IN_FILE_NAME = r"/\\\x00-\x1f\x7f"
FILE_NAME = rf"^[^ {_IN_FILE_NAME}]([^{_IN_FILE_NAME}]*[^ {_IN_FILE_NAME}])?$"
CONTENT_ID = r"^[-A-Za-z0-9._]+$"
SHA_256 = r"^[0-9a-f]{64}$"
TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"

PATTERN_WORDS: dict[str, str] = {
    DNS_LABEL: "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit",
    DNS_SUBDOMAIN: "must be a DNS name: lower-case letters, digits, '-' and '.', each part beginning and ending with a "
    "letter or digit",
    DATA_KEY: "must be a key of a ConfigMap or Secret: letters, digits, '-', '_' and '.', not beginning with '..'",
    RESOURCE_LABEL: "must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
    HEADER_NAME: "must be a header name, such as X-Request-Id: no spaces, no colon",
    LANGUAGE_TAG: "must be a language tag of BCP 47, such as pt-BR",
    MEDIA_TYPE: "must be a media type without parameters, such as application/pdf",
    FILE_NAME: "must be a file name, such as terms.pdf: no slash, no control character, no space at its ends",
    CONTENT_ID: "must be a word of letters, digits, '-', '_' and '.', which html names as cid:WORD",
    SHA_256: "must be 64 lower-case hex digits",
    TIME_OF_DAY: 'must be a time of day from "00:00" to "23:59"',
}
"""What each of these patterns means to a person."""

DnsLabel = Annotated[str, Field(pattern=DNS_LABEL, min_length=1, max_length=63)]
DnsSubdomain = Annotated[str, Field(pattern=DNS_SUBDOMAIN, min_length=1, max_length=253)]
DataKey = Annotated[str, Field(pattern=DATA_KEY, min_length=1, max_length=253)]
ResourceLabel = Annotated[str, Field(pattern=RESOURCE_LABEL, min_length=1, max_length=63)]
HeaderName = Annotated[str, Field(pattern=HEADER_NAME, min_length=1, max_length=128)]
LanguageTag = Annotated[str, Field(pattern=LANGUAGE_TAG, max_length=35)]
TimeOfDay = Annotated[str, Field(pattern=TIME_OF_DAY, max_length=5)]

_INSTANT = r"-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
_OFFSET = r"(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])"
# the API server knows no better than its `date-time`, which takes offsets and years that are none
TIMESTAMP = rf"^[1-9][0-9]{{3}}{_INSTANT}{_OFFSET}$"
_RFC_3339 = re.compile(rf"[0-9]{{4}}{_INSTANT}{_OFFSET}?")


def _parse_timestamp(value: object) -> datetime:
    if isinstance(value, datetime):
        return _in_utc(value)
    found = _RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("timestamp", "must be a date and time with offset, such as 2026-12-04T09:00:00+09:00")
    try:
        instant = datetime.fromisoformat(found.group())
    except ValueError as error:
        raise PydanticCustomError("timestamp", "is no real date and time: {why}", {"why": str(error)}) from None
    return _in_utc(instant)


def _in_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise PydanticCustomError("timestamp_offset", "has no offset from UTC; end it with Z or an offset like +09:00")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("timestamp", "is outside the years 1 to 9999 in UTC") from None


def _format_timestamp(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


Timestamp = Annotated[
    datetime,
    BeforeValidator(_parse_timestamp),
    PlainSerializer(_format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": TIMESTAMP, "maxLength": 35}),
]
"""An instant, RFC 3339 with offset; held and written in UTC."""


@cache
def _timezones() -> frozenset[str]:
    # reads every file of the database: once is enough
    return frozenset(available_timezones())


def _check_timezone(value: str) -> str:
    zones = _timezones()
    if value not in zones:
        hint = did_you_mean(value, zones) or "; use an IANA name such as Asia/Tokyo"
        raise PydanticCustomError("timezone", "is not a known time zone{hint}", {"hint": hint})
    return value


Timezone = Annotated[str, Field(max_length=64), AfterValidator(_check_timezone)]
"""An IANA time zone name."""

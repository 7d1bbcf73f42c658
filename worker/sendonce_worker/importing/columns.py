"""The plan for records of one shape: which value is an address, which a variable.

Column names go in (a CSV header, the keys of a JSON object, the columns of a query), a `Columns` comes out, whose
`recipient()` turns the values of one record, in the same order, into a `Recipient`. A plan is made once per shape, so
that a record costs a few lookups.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from sendonce_store.recipients import Address, Recipient
from sendonce_store.spec.channels import RESERVED_COLUMNS
from sendonce_store.spec.recipients import QUIET

from .addresses import ADDRESS_COLUMNS, NORMALISERS
from .faults import BadFieldError, FieldError
from .zones import canonical_zone

_MAX_REF = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]").search
_QUIET = re.compile(QUIET).fullmatch
# BCP 47 in outline, with the underscore that POSIX writes
_LOCALE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,6}").fullmatch

Pick = Callable[[Sequence[object]], tuple[object, ...]]
Details = tuple[str | None, str | None, str | None, str | None, str | None]
_NO_DETAILS: Details = (None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a record of one shape each part of a recipient stands."""

    names: tuple[str, ...]
    addresses: tuple[tuple[str, str, int, Callable[[str], Address]], ...]
    others: tuple[tuple[str, int, Callable[[object], str | None]], ...]
    variables: tuple[str, ...]
    pick: Pick

    def recipient(self, line: int, values: Sequence[object]) -> Recipient:
        """The recipient that the values of a record stand for, in the order of `names`. Raises `BadFieldError`."""
        found: dict[str, Address] = {}
        for channel, column, index, normalise in self.addresses:
            value = values[index]
            if value is not None and value != "":
                try:
                    text = value.strip() if type(value) is str else _text(value)
                    if text:
                        found[channel] = normalise(text)
                except FieldError as fault:
                    raise BadFieldError(column, fault) from None
        ref, timezone, locale, quiet, wanted = self._details(values) if self.others else _NO_DETAILS
        variables = dict(zip(self.variables, self.pick(values), strict=True))
        prefers = tuple(wanted.split(",")) if wanted else ()
        if prefers:
            found = {channel: address for channel, address in found.items() if channel in prefers}
        return Recipient(line, ref, found, timezone, locale, variables, quiet, prefers)

    def _details(self, values: Sequence[object]) -> Details:
        parts: dict[str, str | None] = {}
        for column, index, convert in self.others:
            try:
                parts[column] = convert(values[index])
            except FieldError as fault:
                raise BadFieldError(column, fault) from None
        id_, timezone, locale, quiet, channels = map(parts.get, _CONVERTERS)
        return id_, timezone, locale, quiet, channels


def plan_columns(names: Sequence[str], channels: Collection[str]) -> Columns:
    """The plan for records with these columns in a campaign that uses these channels.

    Reserved names (`email`, `id`, …) count whatever their case and are no variables, even when the campaign does not
    use their channel. Raises `ValueError`, with a reason, for a name that stands there twice or is empty.
    """
    clean = tuple(_column(name) for name in names)
    for number, name in enumerate(clean, 1):
        if not name:
            message = f"column {number} has no name"
            raise ValueError(message)
        if clean.index(name) != number - 1:
            message = f"column {name} is there twice"
            raise ValueError(message)
    place = {name: index for index, name in enumerate(clean)}
    picked = tuple(index for name, index in place.items() if name not in RESERVED_COLUMNS)
    return Columns(
        names=clean,
        addresses=tuple(
            (channel, column, place[column], NORMALISERS[channel])
            for channel, column in ADDRESS_COLUMNS.items()
            if channel in channels and column in place
        ),
        others=tuple((name, place[name], convert) for name, convert in _CONVERTERS.items() if name in place),
        variables=tuple(clean[index] for index in picked),
        pick=_picker(picked),
    )


def wanted_columns(channels: Collection[str]) -> tuple[str, ...]:
    """The address columns of the channels, in the order of the channels' list."""
    return tuple(column for channel, column in ADDRESS_COLUMNS.items() if channel in channels)


def _column(name: str) -> str:
    stripped = name.strip()
    lowered = stripped.lower()
    return lowered if lowered in RESERVED_COLUMNS else stripped


def _picker(indexes: tuple[int, ...]) -> Pick:
    if not indexes:
        return lambda _: ()
    if len(indexes) == 1:
        first = indexes[0]
        return lambda values: (values[first],)
    return itemgetter(*indexes)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    raise FieldError(f"must be a string, not {type(value).__name__}", value=value)


def _ref(value: object) -> str | None:
    """The sender's reference; a JSON or SQL number is taken as its digits."""
    if value is None or value == "":
        return None
    text = str(value) if type(value) is int else _text(value)
    if len(text) > _MAX_REF:
        raise FieldError(f"is longer than {_MAX_REF} characters", value=value)
    if _CONTROL(text):
        raise FieldError("contains a control character", value=value)
    return text or None


@lru_cache(maxsize=4096)
def _known_zone(text: str) -> str:
    zone = canonical_zone(text)
    if zone is None:
        raise FieldError("is not an IANA time zone, such as Asia/Tokyo", value=text)
    return zone


def _zone(value: object) -> str | None:
    text = "" if value is None else _text(value)
    return _known_zone(text) if text else None


def _locale(value: object) -> str | None:
    text = "" if value is None else _text(value)
    if text and not _LOCALE(text):
        raise FieldError("is not a language tag, such as en or ja-JP", value=value)
    return text or None


def _quiet(value: object) -> str | None:
    text = "" if value is None else _text(value)
    if not text:
        return None
    if not _QUIET(text):
        raise FieldError("is no pair of times, such as 21:00-09:00", value=value)
    start, _, end = text.partition("-")
    if start == end:
        raise FieldError("begins when it ends; leave it empty for no quiet hours", value=value)
    return text


_CHANNELS = {channel.lower(): channel for channel in ADDRESS_COLUMNS}


def _channels(value: object) -> str | None:
    """A list, or a text with commas; joined by commas."""
    given = list(value) if isinstance(value, list | tuple) else ("" if value is None else _text(value)).split(",")
    names = [_text(one) for one in given]
    if names in ([], [""]):
        return None
    known = [_CHANNELS.get(name.lower()) for name in names]
    if None in known or len(set(known)) < len(known):
        raise FieldError(
            f"is no list of channels, each once, such as SMS,Email (of {', '.join(ADDRESS_COLUMNS)})", value=value
        )
    return ",".join(filter(None, known))


_CONVERTERS: Mapping[str, Callable[[object], str | None]] = {
    "id": _ref,
    "timezone": _zone,
    "locale": _locale,
    "quiet": _quiet,
    "channels": _channels,
}

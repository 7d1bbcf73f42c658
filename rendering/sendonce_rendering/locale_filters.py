"""Filters that write dates and numbers as the reader's language does: `{{ due|date }}`, `{{ total|currency('EUR') }}`.

Flows in: a value as lists of recipients have it (ISO 8601 text, a number, a number as text) and the render's context,
which knows the reader's locale and time zone and the language of the text. Flows out: text, the same at any time on
any machine: nothing of the machine's own locale or clock is looked at. The forms are those of CLDR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel import Locale
from babel.dates import format_date, format_datetime, format_time
from babel.numbers import NumberPattern, format_currency, list_currencies
from jinja2 import Undefined, pass_context

from sendonce_rendering.context import MeteredContext
from sendonce_rendering.languages import is_known, locale_for, suggestion
from sendonce_rendering.meter import LimitError

__all__ = ["LOCALE_FILTERS"]


class Reader(NamedTuple):
    """Who reads: their locale and time zone, and the language of the text."""

    locale: str | None
    zone: object
    language: str | None


_PLAIN = frozenset({str, int, float})
# texts that each filter remembers
_REMEMBERED = 8_192
# what one of these costs beside an ordinary filter, in steps
_STEPS = 20
_LONGEST_PATTERN = 64
_STYLES = frozenset({"short", "medium", "long", "full"})
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,9})?")
_MAX_DECIMALS = 15
# as many digits as decimal arithmetic can round
_LARGEST = Decimal(10) ** 20
# CLDR parts digits and signs with spaces that do not break; a text message with one of them holds 70 characters
_PLAIN_SPACE = str.maketrans({"\xa0": " ", "\u202f": " "})


def _filter(write: Callable[..., str]) -> Callable[..., str]:
    """Make a filter of a function that writes a value for a reader. What it wrote is remembered.

    Prices and days of a campaign come again and again, and CLDR takes its time. Only plain values are looked up: two
    datetimes of one instant are equal, and written differently.
    """
    remembering = lru_cache(_REMEMBERED, typed=True)(write)

    @pass_context
    def written(context: MeteredContext, value: object, *args: object, **kwargs: object) -> str:
        if isinstance(value, Undefined):
            str(value)  # a strict one says its name
        locale, zone = context.parent.get("locale"), context.parent.get("timezone")
        reader = Reader(locale if type(locale) is str else None, zone if type(zone) is str else None, context.language)
        context.meter.spend(_STEPS)
        text = (remembering if type(value) in _PLAIN else write)(reader, value, *args, **kwargs)
        return text if context.eval_ctx.autoescape else text.translate(_PLAIN_SPACE)

    return written


def _date(reader: Reader, value: object, style: object = "medium", locale: object = None) -> str:
    """Write a day: 2026-12-24 → Dec 24, 2026."""
    moment = _moment(value, reader.zone, date)
    return format_date(moment, _style(style), locale=_locale(reader, locale))  # type: ignore[arg-type]  # a date


def _datetime(
    reader: Reader, value: object, style: object = "medium", timezone: object = None, locale: object = None
) -> str:
    """Write a day with its time, in the reader's zone if the value has an offset."""
    moment = _moment(value, reader.zone if timezone is None else timezone, datetime)
    return format_datetime(moment, _style(style), locale=_locale(reader, locale))


def _time(
    reader: Reader, value: object, style: object = "short", timezone: object = None, locale: object = None
) -> str:
    """Write a time of day: 18:30:00 → 6:30 PM."""
    moment = _moment(value, reader.zone if timezone is None else timezone, datetime, time)
    return format_time(moment, _style(style), locale=_locale(reader, locale))  # type: ignore[arg-type]  # either


def _number(reader: Reader, value: object, decimals: object = None, locale: object = None) -> str:
    """Write a number: 1234.5 → 1,234.5; with so many decimals if asked."""
    chosen = _locale(reader, locale)
    return _apply(_decimal(value), chosen.decimal_formats[None], chosen, _places(decimals))


def _percent(reader: Reader, value: object, decimals: object = 0, locale: object = None) -> str:
    """Write a share as a percentage: 0.25 → 25%."""
    chosen = _locale(reader, locale)
    return _apply(_decimal(value), chosen.percent_formats[None], chosen, _places(decimals))


def _currency(reader: Reader, value: object, code: object = None, locale: object = None) -> str:
    """Write an amount with the decimals that its currency has: 1234.5, EUR → €1,234.50."""
    if not isinstance(code, str) or code.upper() not in _currencies():
        words = f"currency: there is no currency {code!r}" if isinstance(code, str) else "currency needs a currency"
        raise LimitError("expression_failed", f"{words}; give its ISO 4217 code, such as currency('EUR')")
    return format_currency(_decimal(value), code.upper(), locale=_locale(reader, locale))


def _apply(value: Decimal, pattern: NumberPattern, locale: Locale, places: int | None) -> str:
    """Write a number by a pattern of CLDR, with the grouping that the locale has (12,34,567 in India)."""
    if places is not None:
        pattern = copy(pattern)
        pattern.frac_prec = (places, places)
    return str(pattern.apply(value, locale))


# --- the reader's language and zone ----------------------------------------------------------------------------------
def _locale(reader: Reader, asked: object) -> Locale:
    if asked is None:
        return locale_for(reader.locale, reader.language)
    if not isinstance(asked, str) or not is_known(asked):
        raise LimitError("expression_failed", f"there is no locale {asked!r}; {suggestion(str(asked))}")
    return locale_for(asked, None)


@lru_cache(512)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _in_zone(moment: datetime, name: object) -> datetime:
    if name is None or moment.tzinfo is None:
        return moment
    zone = _zone(name) if isinstance(name, str) else None
    if zone is None:
        raise LimitError("expression_failed", f"there is no time zone {name!r}; use an IANA name such as Asia/Tokyo")
    return moment.astimezone(zone)


# --- values ----------------------------------------------------------------------------------------------------------
def _moment(value: object, zone: object, *kinds: type) -> date | time:
    """Return what the filter writes: of one of these kinds. A day without a time of day has none to write."""
    moment = _parsed(value) if isinstance(value, str) else value
    if isinstance(moment, kinds):
        return _in_zone(moment, zone) if isinstance(moment, datetime) else moment  # type: ignore[return-value]  # the kinds are all of these
    example = "2026-12-24" if date in kinds else "2026-12-24T18:30:00+01:00"
    raise LimitError("expression_failed", f"a value in ISO 8601 is needed here{_found(value)}, such as {example}")


def _parsed(text: str) -> date | datetime | time | None:
    for kind in (date, datetime, time):
        try:
            return kind.fromisoformat(text.strip())
        except ValueError:
            continue
    return None


def _found(value: object) -> str:
    # a text may be somebody's own data: it is not repeated
    return "" if isinstance(value, (str, date, time)) else f", not a {type(value).__name__}"


def _decimal(value: object) -> Decimal:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip()) + 0
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        number = Decimal(str(value)) + 0
        if number.is_finite() and abs(number) < _LARGEST:
            return number
    raise LimitError(
        "expression_failed", f"a number of at most 18 digits is needed here{_found(value)}, such as 1234.50"
    )


def _style(style: object) -> str:
    if isinstance(style, str) and len(style) <= _LONGEST_PATTERN and (style in _STYLES or not _is_word(style)):
        return style
    words = "the form of a date is short, medium, long, full, or a pattern of CLDR such as 'd MMMM y'"
    raise LimitError("expression_failed", words)


def _is_word(style: str) -> bool:
    """Tell a slip of the pen ("meduim") from a pattern ("yyyy")."""
    return len(set(style)) > 2 and style.isalpha() and style.islower()  # noqa: PLR2004  # letters of a pattern repeat


def _places(decimals: object) -> int | None:
    if decimals is None:
        return None
    if isinstance(decimals, int) and 0 <= decimals <= _MAX_DECIMALS:
        return decimals
    raise LimitError("expression_failed", f"the number of decimals is a whole number from 0 to {_MAX_DECIMALS}")


@lru_cache(1)
def _currencies() -> frozenset[str]:
    return frozenset(list_currencies())


LOCALE_FILTERS: Mapping[str, Callable[..., object]] = {
    "currency": _filter(_currency),
    "date": _filter(_date),
    "datetime": _filter(_datetime),
    "number": _filter(_number),
    "percent": _filter(_percent),
    "time": _filter(_time),
}

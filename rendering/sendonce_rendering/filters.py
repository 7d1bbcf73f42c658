"""The filters and tests a template may use, each one metered.

Flows in: the value and arguments of a filter in a template, with the render's context (which carries its meter).
Flows out: the filter's result, paid for and within bounds. A filter that could grow its input checks the size of
the result before it is made. What is missing here on purpose: `random` (a retry must send the same bytes), `attr`
(a way around the sandbox), `format`, `center`, `indent`, `wordwrap`, `batch`, `pprint` (amplifiers of little use in
a message).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from decimal import Decimal
from typing import Any

from jinja2 import Undefined, pass_context
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from sendonce_rendering.context import MeteredContext
from sendonce_rendering.locale_filters import LOCALE_FILTERS
from sendonce_rendering.meter import SCALARS, LimitError, Meter

__all__ = ["FILTERS", "TESTS", "require_printable", "settle"]

Filter = Callable[..., object]

# Jinja's own, whose results are no larger than a small multiple of what they are given.
_METERED = (
    "abs", "capitalize", "dictsort", "e", "escape", "first", "float", "items", "last", "list", "lower", "map", "max",
    "min", "reject", "rejectattr", "reverse", "safe", "select", "selectattr", "sort", "string", "title", "trim",
    "truncate", "unique", "upper", "urlencode", "wordcount",
)  # fmt: skip

# Those that write their value as text.
_WRITERS = frozenset({
    "capitalize", "e", "escape", "lower", "safe", "string", "title", "trim", "truncate", "upper", "wordcount",
})  # fmt: skip

# "callable", "filter", "test" and "sameas" look at the machinery, not at data.
_TESTS = (
    "boolean", "defined", "divisibleby", "eq", "equalto", "==", "even", "false", "float", "ge", ">=", "greaterthan",
    "gt", ">", "in", "integer", "iterable", "le", "<=", "lessthan", "lower", "lt", "<", "mapping", "ne", "!=", "none",
    "number", "odd", "sequence", "string", "true", "undefined", "upper",
)  # fmt: skip

# Escaping turns one character into at most this many ("&#34;").
_ESCAPED_CHARACTER_LENGTH = 5
_MAX_DECIMALS = 15


def settle(meter: Meter, value: object) -> object:
    """Return the value in a form of bounded size: iterators and views become lists, and everything is paid for."""
    if isinstance(value, (Iterator, KeysView, ValuesView, ItemsView)):
        return _listed(meter, value)
    meter.admit(value)
    return value


def require_printable(value: object) -> None:
    """Refuse what nobody means to send: a null, a list, a method. LimitError `null_value` or `unprintable`."""
    if value is None:
        raise LimitError("null_value", "a null is printed; give it a default: {{ name|default('friend') }}")
    if not isinstance(value, (*SCALARS, Undefined)):
        remedy = "are () missing?" if callable(value) else "use join or tojson for lists and mappings"
        raise LimitError("unprintable", f"a {type(value).__name__} cannot be printed; {remedy}")


def _listed(meter: Meter, values: Iterable[object]) -> list[object]:
    items = list(_counted(meter, values))
    meter.admit(items)
    return items


def _counted(meter: Meter, values: Iterable[object]) -> Iterator[object]:
    for value in values:
        meter.spend(1)
        yield value


def _pay(meter: Meter, value: object) -> None:
    """Pay for reading a value, which must be data: a method or a macro has a text, but not the same in each process."""
    if isinstance(value, str):
        meter.spend_characters(len(value))
    elif isinstance(value, (list, tuple, dict, range)):
        meter.spend(len(value))
    elif not isinstance(value, (*SCALARS, Undefined)):
        raise LimitError("unsafe", f"a filter takes data only, not a {type(value).__name__}; are () missing?")


def _metered(name: str) -> Filter:
    jinja_filter = JINJA_FILTERS[name]

    @pass_context
    def metered(context: MeteredContext, value: object, *args: object, **kwargs: object) -> object:
        if name in _WRITERS:
            require_printable(value)
        for each in (value, *args, *kwargs.values()):
            _pay(context.meter, each)
        # The context's call adds what the filter asks for: the environment, the escaping context, or nothing.
        return settle(context.meter, context.call(jinja_filter, value, *args, **kwargs))

    return metered


@pass_context
def _default(_context: MeteredContext, value: object, fallback: object = "", boolean: object = None) -> object:
    """Use the fallback for what is undefined or null, and with `boolean` for what is empty too."""
    if value is None or isinstance(value, Undefined) or (boolean and not value):
        return fallback
    return value


@pass_context
def _join(context: MeteredContext, value: object, separator: object = "", attribute: object = None) -> object:
    parts = _listed(context.meter, _picked(context, value, attribute))
    for part in parts:
        require_printable(part)
    between = _text(separator)
    context.meter.require_length(len(parts) * len(between) * _growth(context))
    return settle(context.meter, context.call(JINJA_FILTERS["join"], parts, separator))


@pass_context
def _replace(context: MeteredContext, value: object, old: object, new: object, count: int | None = None) -> object:
    text, found, put = _text(value), _text(old), _text(new)
    occurrences = text.count(found) if count is None else min(text.count(found), max(count, 0))
    context.meter.spend_characters(len(text))
    context.meter.require_length((len(text) + occurrences * len(put)) * _growth(context))
    return settle(context.meter, context.call(JINJA_FILTERS["replace"], value, old, new, count))


def _picked(context: MeteredContext, value: object, attribute: object) -> Iterable[object]:
    _pay(context.meter, value)
    items = value if attribute is None else context.call(JINJA_FILTERS["map"], value, attribute=attribute)
    if isinstance(items, Iterable):
        return items
    raise LimitError("expression_failed", f"a list is needed here, not a {type(items).__name__}")


def _text(value: object) -> str:
    require_printable(value)
    return str(value)


def _growth(context: MeteredContext) -> int:
    return _ESCAPED_CHARACTER_LENGTH if context.eval_ctx.autoescape else 1


@pass_context
def _length(context: MeteredContext, value: object) -> int:
    _pay(context.meter, value)
    return len(value)  # type: ignore[arg-type]  # what has no length raises the TypeError that the template deserves


@pass_context
def _sum(context: MeteredContext, value: object, attribute: object = None, start: object = 0) -> object:
    total: float | Decimal = _number(start)
    for item in _counted(context.meter, _picked(context, value, attribute)):
        total = operator.add(total, _number(item))
        context.meter.admit(total)
    return total


@pass_context
def _int(context: MeteredContext, value: object, default: object = 0) -> object:
    number = context.call(JINJA_FILTERS["int"], value, default)
    return settle(context.meter, number)


@pass_context
def _round(_context: MeteredContext, value: object, precision: int = 0) -> object:
    return round(_number(value), _decimals(precision))


@pass_context
def _fixed(_context: MeteredContext, value: object, decimals: int = 2, thousands: str = "") -> str:
    """Write a number with this many decimals, and with "," or "_" between thousands if asked: 1234.5 → 1,234.50."""
    if thousands not in {"", ",", "_"}:
        raise LimitError("expression_failed", "fixed: the thousands separator is ',' or '_'")
    return f"{_number(value):{thousands}.{_decimals(decimals)}f}"


@pass_context
def _tojson(context: MeteredContext, value: object) -> object:
    _pay(context.meter, value)
    if isinstance(value, Undefined):
        str(value)  # a strict one says its name
    return settle(context.meter, context.call(JINJA_FILTERS["tojson"], value))


def _number(value: object) -> float | Decimal:
    if isinstance(value, Undefined):
        str(value)  # a strict one says its name
    if isinstance(value, (int, float, Decimal)):
        return value
    raise LimitError("expression_failed", f"a number is needed here, not a {type(value).__name__}")


def _decimals(value: object) -> int:
    if isinstance(value, int) and abs(value) <= _MAX_DECIMALS:
        return value
    raise LimitError("expression_failed", f"the number of decimals must be a whole number up to {_MAX_DECIMALS}")


FILTERS: Mapping[str, Filter] = {
    **{name: _metered(name) for name in _METERED},
    **LOCALE_FILTERS,
    "count": _length,
    "d": _default,
    "default": _default,
    "fixed": _fixed,
    "int": _int,
    "join": _join,
    "length": _length,
    "replace": _replace,
    "round": _round,
    "sum": _sum,
    "tojson": _tojson,
}

TESTS: Mapping[str, Any] = {name: JINJA_TESTS[name] for name in _TESTS}

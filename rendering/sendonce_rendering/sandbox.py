"""The environment a template runs in: data, a few methods of data, and nothing else.

Flows in: a rewritten template (see `rewriting`) and the variables of one recipient. Flows out: text, or an error.
Jinja's sandbox keeps a template away from Python's insides by refusing what is known to be dangerous. This one goes
the other way: only what is listed here can be reached. Each place where a value can grow pays the render's meter,
which travels in the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from jinja2 import StrictUndefined, Undefined, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from sendonce_rendering.context import MeteredContext
from sendonce_rendering.filters import FILTERS, TESTS, require_printable, settle
from sendonce_rendering.meter import CHARACTERS_PER_STEP_SHIFT, LimitError, Meter

__all__ = ["MeteredEnvironment"]

_STRING_METHODS = frozenset({
    "capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isdecimal", "isdigit", "islower",
    "isnumeric", "isspace", "istitle", "isupper", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
    "rfind", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title",
    "upper",
})  # fmt: skip
_LOOP_ATTRIBUTES = frozenset({
    "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem",
    "revindex", "revindex0",
})  # fmt: skip

# What may be reached by a dot, by the type that has it. `format` and its kin can read any attribute; what could
# multiply a string (`center`, `ljust`, `zfill`, `expandtabs`, `replace`, `join`) has a checked filter or none.
_ATTRIBUTES: tuple[tuple[type, frozenset[str]], ...] = (
    (str, _STRING_METHODS),
    (dict, frozenset({"get", "items", "keys", "values"})),
    (list, frozenset({"count", "index"})),
    (tuple, frozenset({"count", "index"})),
    (LoopContext, _LOOP_ATTRIBUTES),
    (datetime, frozenset({"day", "hour", "isoformat", "minute", "month", "second", "weekday", "year"})),
    (date, frozenset({"day", "isoformat", "month", "weekday", "year"})),
)

_SEQUENCES = (str, list, tuple)
_MAX_RANGE = 10_000


class MeteredEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox without a loader, in which work and growth are counted."""

    context_class = MeteredContext
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, *, autoescape: bool) -> None:
        """Make the environment for escaped (HTML) or for plain parts."""
        # Without the optimiser nothing is computed while compiling, where no meter would run.
        super().__init__(
            autoescape=autoescape,
            undefined=StrictUndefined,
            finalize=_printed,
            keep_trailing_newline=True,
            optimized=False,
        )
        self.filters = {**FILTERS, "_built": _built, "_concatenated": _concatenated, "_each": _each, "_spent": _spent}
        self.tests = dict(TESTS)
        self.globals = {"namespace": Namespace, "range": _range}

    def getattr(self, obj: object, attribute: str) -> object:
        """Return `obj.attribute`: a mapping's own key first, else a listed attribute."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if isinstance(obj, Undefined) or (isinstance(obj, Namespace) and not attribute.startswith("_")):
            return getattr(obj, attribute)
        for kind, allowed in _ATTRIBUTES:
            if isinstance(obj, kind) and attribute in allowed:
                return getattr(obj, attribute)
        if hasattr(obj, attribute):
            hint = f"{attribute!r} of a {type(obj).__name__} is not available in templates; is there a filter for it?"
            return self.undefined(hint, obj=obj, name=attribute, exc=SecurityError)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: object, argument: object) -> object:
        """Return `obj[argument]`, for data only; there is no way from here to an attribute."""
        if isinstance(obj, Undefined):
            str(obj)  # a strict one says its name
        if isinstance(obj, (dict, list, tuple, str, range)):
            try:
                return obj[argument]  # type: ignore[index, call-overload]  # a wrong type finds nothing
            except (TypeError, LookupError):
                pass
        return self.undefined(obj=obj, name=argument)  # type: ignore[arg-type]  # the name may be any value

    def is_safe_callable(self, obj: object) -> bool:
        """Say whether a template may call this: what `getattr` and the globals gave it, and its own macros."""
        owner = getattr(obj, "__self__", None)
        is_method = isinstance(owner, tuple(kind for kind, _ in _ATTRIBUTES))
        return is_method or isinstance(obj, Macro) or obj is Namespace or obj is _range

    def call(__self, __context: Context, __obj: object, *args: object, **kwargs: object) -> object:  # noqa: N805, PYI063  # as the base class has it
        """Call a macro, a method of data or a global, one level deeper."""
        if isinstance(__obj, Undefined):
            str(__obj)  # says what is missing, or what may not be reached
        meter = _meter(__context)
        meter.enter_call()
        meter.spend(1 + _reading_steps(__obj))
        result = settle(meter, super().call(__context, __obj, *args, **kwargs))
        meter.leave_call()
        return result

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Compute a binary operation whose result is known to be of bounded size."""
        meter = _meter(context)
        _require_bounded(meter, operator, left, right)
        return settle(meter, super().call_binop(context, operator, left, right))

    def call_filter(self, name: str, *args: object, **kwargs: object) -> object:
        """Apply a filter that `map` knows by its name only: the compiler could not check that name."""
        if name not in FILTERS:
            raise SecurityError(f"there is no filter {name!r}")
        return super().call_filter(name, *args, **kwargs)  # type: ignore[arg-type]


def _reading_steps(method: object) -> int:
    """Return what a method costs that reads the whole of its object, be its answer ever so short."""
    owner = getattr(method, "__self__", None)
    return len(owner) >> CHARACTERS_PER_STEP_SHIFT if isinstance(owner, (str, list, tuple, dict)) else 0


def _meter(context: Context) -> Meter:
    return context.meter  # type: ignore[attr-defined, no-any-return]  # every context here is a MeteredContext


def _require_bounded(meter: Meter, operator: str, left: object, right: object) -> None:
    if operator == "%" and isinstance(left, str):
        raise LimitError("unsafe", "% does not format text here; use ~ to join, or the filter fixed for numbers")
    if operator == "+" and isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
        meter.require_length(len(left) + len(right))
    elif operator == "*":
        _require_bounded_product(meter, left, right)
    elif operator == "**" and isinstance(left, int) and isinstance(right, int):
        meter.require_bits(left.bit_length() * max(right, 0))


def _require_bounded_product(meter: Meter, left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int):
        meter.require_bits(left.bit_length() + right.bit_length())
    elif isinstance(left, _SEQUENCES) and isinstance(right, int):
        meter.require_length(len(left) * max(right, 0))
    elif isinstance(right, _SEQUENCES) and isinstance(left, int):
        meter.require_length(len(right) * max(left, 0))


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if numbers[_MAX_RANGE:]:
        raise LimitError("too_large", f"range() gives at most {_MAX_RANGE} numbers")
    return numbers


@pass_context
def _printed(context: MeteredContext, value: object) -> object:
    """Check what is about to be written into the message (Jinja's `finalize`)."""
    if isinstance(value, str):
        context.meter.spend_characters(len(value))
    else:
        require_printable(value)
    return value


# The filters below are put into the template by `rewriting`; a template cannot name them.


@pass_context
def _each(context: MeteredContext, values: object, steps: int) -> Iterator[object]:
    """Yield what a `for` runs over, paying for its body at each turn."""
    if not isinstance(values, (list, tuple, dict, str, range, Undefined)):
        raise LimitError("expression_failed", f"for needs a list, not a {type(values).__name__}")
    spend = context.meter.spend
    for value in values:
        spend(steps)
        yield value


@pass_context
def _spent(context: MeteredContext, _nothing: object, steps: int) -> None:
    """Pay for the body of a macro."""
    context.meter.spend(steps)


@pass_context
def _built(context: MeteredContext, value: object) -> object:
    """Pay for a value that the template's own syntax makes: a list, a slice, a captured block."""
    context.meter.admit(value)
    return value


@pass_context
def _concatenated(context: MeteredContext, parts: tuple[object, ...]) -> str:
    """Join the operands of `~`."""
    printed = [_printed(context, part) for part in parts]
    context.meter.require_length(sum(len(part) for part in printed if isinstance(part, str)))
    text = markup_join(printed) if context.eval_ctx.autoescape else str_join(printed)
    context.meter.admit(text)
    return text

"""The allowance of one render: how much work a template may do, and how large its values may grow.

Flows in: a charge from every place where a template can work or grow (the compiler puts them there, see
`rewriting`, `filters` and `sandbox`). Flows out: nothing, or a `LimitError` as soon as the allowance is used up.

The allowance is counted, not timed: the same template and the same variables always end in the same way, on any
machine. The time check behind it is a second net. It reads the CPU time of this thread, so that a worker that was
stopped for a minute in the middle of a render does not take that for a slow template.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from uuid import UUID

from jinja2 import Undefined

__all__ = ["CHARACTERS_PER_STEP_SHIFT", "SCALARS", "LimitError", "Limits", "Meter"]

# One step pays for one evaluated node, or for copying this many characters (as a shift).
CHARACTERS_PER_STEP_SHIFT = 6
# The clock is read once per this many steps: often enough to stop a slow template within milliseconds.
_STEPS_PER_CLOCK_CHECK = 1_000

# What a template may hold, print and hand to filters, beside lists, tuples and dicts of it.
SCALARS = (str, int, float, type(None), Decimal, date, time_of_day, timedelta, UUID)


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one render. Lengths are in characters, `cpu_seconds` in seconds of this thread's CPU time."""

    steps: int = 200_000
    value_length: int = 512 * 1024
    integer_bits: int = 4_096
    call_depth: int = 32
    cpu_seconds: float = 0.25
    text_length: int = 256 * 1024
    html_length: int = 512 * 1024
    # RFC 5322 §2.1.1: a line of a message is at most 998 characters long.
    line_length: int = 998


class LimitError(Exception):
    """A template went past its allowance, or did what it may not. Becomes a `RenderError` at the part's boundary."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code of the later `RenderError` and its message."""
        super().__init__(code, message)
        self.code = code
        self.message = message


class Meter:
    """Counts what one message's render has used. Not shared between renders."""

    __slots__ = ("_checkpoint", "_cpu_start", "_depth", "_steps_left", "limits")

    def __init__(self, limits: Limits) -> None:
        """Start with the whole allowance."""
        self.limits = limits
        self._steps_left = limits.steps
        self._checkpoint = limits.steps - _STEPS_PER_CLOCK_CHECK
        self._cpu_start: float | None = None
        self._depth = 0

    def spend(self, steps: int) -> None:
        """Take steps from the allowance. LimitError `too_many_steps` or `time_limit`."""
        self._steps_left -= steps
        if self._steps_left < self._checkpoint:
            self._check()

    def spend_characters(self, length: int) -> None:
        """Pay for copying a string of this length; a short one is paid by its node's step."""
        steps = length >> CHARACTERS_PER_STEP_SHIFT
        if steps:
            self.spend(steps)

    def enter_call(self) -> None:
        """Go one call deeper. LimitError `too_deep`."""
        self._depth += 1
        if self._depth > self.limits.call_depth:
            message = f"calls are nested more than {self.limits.call_depth} deep; does a macro call itself?"
            raise LimitError("too_deep", message)

    def leave_call(self) -> None:
        """Come back from a call."""
        self._depth -= 1

    def require_length(self, length: int) -> None:
        """Refuse a value of this length before it is made. LimitError `too_large`."""
        if length > self.limits.value_length:
            message = f"a value would grow past {self.limits.value_length} characters or elements"
            raise LimitError("too_large", message)

    def require_bits(self, bits: int) -> None:
        """Refuse an integer of this size before it is made. LimitError `too_large`."""
        if bits > self.limits.integer_bits:
            raise LimitError("too_large", f"a number would grow past {self.limits.integer_bits} bits")

    def admit(self, value: object) -> None:
        """Check and pay for a value that the template has just made."""
        if isinstance(value, str):
            self.require_length(len(value))
            self.spend_characters(len(value))
        elif isinstance(value, int):
            self.require_bits(value.bit_length())
        elif isinstance(value, (list, tuple, dict)):
            self._admit_container(value)

    def _admit_container(self, container: object) -> None:
        """Count a container as if every part of it were copied.

        `[a, a]` made of `[b, b]` and so on doubles at each turn without using memory: printing or comparing it would.
        """
        size = 0
        waiting = [container]
        while waiting:
            item = waiting.pop()
            size += _length(item)
            self.require_length(size)
            if isinstance(item, dict):
                waiting.extend(item)
                waiting.extend(item.values())
            elif isinstance(item, (list, tuple)):
                waiting.extend(item)
            self.spend(1)
        self.spend_characters(size)

    def _check(self) -> None:
        if self._steps_left < 0:
            message = f"the template takes more than {self.limits.steps} steps; does a loop run away?"
            raise LimitError("too_many_steps", message)
        self._checkpoint = self._steps_left - _STEPS_PER_CLOCK_CHECK
        now = time.thread_time()
        if self._cpu_start is None:
            self._cpu_start = now
        elif now - self._cpu_start > self.limits.cpu_seconds:
            raise LimitError("time_limit", f"the template takes more than {self.limits.cpu_seconds} s of CPU time")


def _length(item: object) -> int:
    if isinstance(item, (str, list, tuple, dict)):
        return len(item) + 1
    if isinstance(item, Undefined):
        str(item)  # a strict one says its name
    elif not isinstance(item, SCALARS):
        message = f"a list or mapping may hold data only, not a {type(item).__name__}"
        raise LimitError("unsafe", message)
    return 1

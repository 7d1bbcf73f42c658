"""Orders that change a running far end: the body of ``POST /control``.

In: a JSON object. Out: an ``Order`` with a complete new ``Behaviour``. Pure; ``server`` obeys it.

=================== ===========================================================================
field               effect
=================== ===========================================================================
``chances``         object; the named chances change, the others stay
``pace``            ``"500/1"``, ``"500/1/50"``, or null for none
``key_window``, ``smtp_key_window``, ``latency``, ``jitter``, ``hang_seconds``, ``retry_after``
                    seconds
``account_after``   number of hand-offs since the start, 0 for "from now on", or null for never
``outage``          ``"none"``, ``"refuse"``, ``"close"`` or ``"answer"``
``throttle_seconds`` everything is throttled for so long, from now; 0 ends it
``forget_keys``     true: every remembered key is forgotten
``reset``           true: back to the behaviour of the start, unthrottled, before the rest applies
=================== ===========================================================================
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sendonce_cli.simulate.behaviour import Behaviour, Chances, Outage, Pace, SettingsError

_DURATIONS = ("key_window", "smtp_key_window", "latency", "jitter", "hang_seconds", "retry_after")
_MOMENTARY = ("throttle_seconds", "forget_keys", "reset")


@dataclass(frozen=True, slots=True)
class Order:
    """One change: the behaviour from now on, and what is done at once."""

    behaviour: Behaviour
    throttle_seconds: float | None = None
    """None: an earlier order to throttle stays."""
    forget_keys: bool = False


def read_order(body: object, now: Behaviour, start: Behaviour) -> Order:
    """Return the order that ``body`` gives to a far end that behaves as ``now``.

    Raises ``SettingsError`` naming the field; nothing has changed then.
    """
    if not isinstance(body, Mapping):
        raise SettingsError("body", 'a JSON object is needed, such as {"outage": "refuse"}')
    known = {item.name for item in fields(Behaviour)} | set(_MOMENTARY)
    for name in body:
        if name not in known:
            raise SettingsError(str(name), f"unknown; known are {', '.join(sorted(known))}")
    base = start if _flag(body, "reset") else now
    changes: dict[str, Any] = {
        name: _changed(name, value, base) for name, value in body.items() if name not in _MOMENTARY
    }
    seconds = _throttle(body)
    return Order(replace(base, **changes), seconds, _flag(body, "forget_keys"))


def _throttle(body: Mapping[str, object]) -> float | None:
    if "throttle_seconds" not in body:
        return 0.0 if _flag(body, "reset") else None
    seconds = _number("throttle_seconds", body["throttle_seconds"])
    if not seconds >= 0:
        raise SettingsError("throttle_seconds", f"{seconds} is below 0")
    return seconds


def _changed(name: str, value: object, base: Behaviour) -> object:
    if name in _DURATIONS:
        return _number(name, value)
    if name == "chances":
        return _chances(value, base.chances)
    if name == "pace":
        return None if value is None else _pace(value)
    if name == "outage":
        return _outage(value)
    return _count(name, value)


def _chances(value: object, base: Chances) -> Chances:
    if not isinstance(value, Mapping):
        raise SettingsError("chances", 'an object is needed, such as {"lost": 0.1}')
    known = {item.name for item in fields(Chances)}
    for name in value:
        if name not in known:
            problem = f"unknown; known are {', '.join(sorted(known))}"
            raise SettingsError(f"chances.{name}", problem)
    return replace(base, **{name: _number(f"chances.{name}", p) for name, p in value.items()})


def _pace(value: object) -> Pace:
    if not isinstance(value, str):
        raise SettingsError("pace", f"{value!r} is not a text such as 500/1")
    return Pace.parse(value)


def _outage(value: object) -> Outage:
    try:
        return Outage(str(value))
    except ValueError as error:
        names = ", ".join(Outage)
        raise SettingsError("outage", f"{value!r} is not one of {names}") from error


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(name, f"{value!r} is not a number")
    return float(value)


def _count(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingsError(name, f"{value!r} is not a whole number")
    return value


def _flag(body: Mapping[str, object], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise SettingsError(name, f"{value!r} is not true or false")
    return value

"""What happens to one attempt: decided by seed, key and attempt number, never by the clock.

In: the chances, the seed, who the attempt is for and its number. Out: a ``Fate``. Two runs with the
same seed and keys meet the same fates in whatever order and at whatever speed they arrive.

Addresses can name their fate, for demos, documentation and tests. The local part (or the whole of
an address without an @) starts with one of these, then a ``+``; ``N`` is a number, 1 by default:

================= =============================================================================
``ok+…``          always accepted, whatever the chances say
``permanent+…``   refused for good, always
``account+…``     an account-level error, always
``transientN+…``  the first N attempts are refused for now, then accepted
``throttleN+…``   the first N attempts are throttled, then accepted
``dropN+…``       the first N attempts end without an answer and are not accepted
``stallN+…``      the same, after ``hang_seconds``
``lostN+…``       accepted; the first N answers are lost
``garbageN+…``    accepted; the first N answers are garbage
``hangN+…``       the first N attempts are accepted after ``hang_seconds`` only
``slowN+…``       accepted at once; the first N answers come after ``hang_seconds``
================= =============================================================================
"""

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from sendonce_cli.simulate.behaviour import Chances, SettingsError

_ALWAYS = frozenset({"ok", "permanent", "account"})


class Fate(StrEnum):
    """What happens to one attempt; the values are the names in the table above."""

    OK = "ok"
    PERMANENT = "permanent"
    ACCOUNT = "account"
    TRANSIENT = "transient"
    THROTTLE = "throttle"
    DROP = "drop"
    STALL = "stall"
    LOST = "lost"
    GARBAGE = "garbage"
    HANG = "hang"
    SLOW = "slow"


_NAMES = "|".join(Fate)
_PREFIX = re.compile(rf"({_NAMES})(\d*)\+")
_RULE = re.compile(rf"({_NAMES})(\d*)")


def fraction(seed: int, *parts: object) -> float:
    """Return a number in [0, 1) that depends on the seed and the parts alone."""
    text = "\x1f".join(str(part) for part in (seed, *parts))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)


def drawn_fate(chances: Chances, seed: int, identity: str, to: str, draw: int) -> Fate:
    """Return the fate that the chances give to attempt number ``draw`` (from 1) of ``identity``."""
    if chances.permanent and fraction(seed, "permanent", to) < chances.permanent:
        return Fate.PERMANENT
    point = fraction(seed, "attempt", identity, draw)
    for name, chance in chances.drawn():
        if point < chance:
            return Fate(name)
        point -= chance
    return Fate.OK


def overridden_fate(to: str, draw: int, rules: Sequence[tuple[str, str]]) -> Fate | None:
    """Return the fate that the address itself or a rule names, or None if neither does.

    ``rules`` are pairs of a glob over the whole address and a fate such as ``transient3``; the
    first that matches wins, before the address's own prefix.
    """
    match = next((_RULE.fullmatch(rule) for glob, rule in rules if fnmatchcase(to, glob)), None)
    match = match or _PREFIX.match(to)
    if match is None:
        return None
    name, count = match[1], int(match[2] or 1)
    return Fate(name) if name in _ALWAYS or draw <= count else Fate.OK


def check_rule(text: str) -> tuple[str, str]:
    """Read ``GLOB=FATE``, such as ``+1500555*9=permanent``; raises ``SettingsError``."""
    glob, _, rule = text.rpartition("=")
    if not glob or not _RULE.fullmatch(rule):
        problem = f"{text!r} is not GLOB=FATE with a fate of {', '.join(Fate)} and a number"
        raise SettingsError("override", problem)
    return glob, rule

"""What the far end does to hand-offs, as one frozen value: the part that may change while it runs.

In: options of the command line and bodies of ``POST /control``. Out: a ``Behaviour`` whose every
field has been checked. ``far_end`` reads it for each hand-off; ``settings`` holds what is fixed.
"""

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum

_PACE_PARTS = (2, 3)


class SettingsError(ValueError):
    """A setting that cannot be used: names the field, what is wrong and what would be right."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.field = name
        self.problem = problem


class Outage(StrEnum):
    """How the far end is down. Hand-offs that were already taken in go on in every case."""

    NONE = "none"
    REFUSE = "refuse"
    """Nobody listens: connections are refused, existing ones reset. Definitely not accepted."""
    CLOSE = "close"
    """A hand-off is read in full, then the connection is reset: recorded as dropped."""
    ANSWER = "answer"
    """HTTP 503 or SMTP 421: definitely not accepted."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Probabilities in [0, 1] of what happens to one hand-off.

    ``permanent`` is drawn once per recipient and stays; the others are drawn per attempt, exclude
    each other, and must not exceed 1 in sum. What is left is the chance of a normal acceptance.
    """

    permanent: float = 0.0
    """This recipient is refused for good, at every attempt."""
    transient: float = 0.0
    """Refused for now."""
    throttle: float = 0.0
    """Refused because of the pace, with a wait."""
    account: float = 0.0
    """Refused because of the sender's account."""
    hang: float = 0.0
    """Wait ``hang_seconds``, then accept and answer, whether or not the sender still waits."""
    slow: float = 0.0
    """Accept at once, then wait ``hang_seconds`` before the first byte of the answer."""
    stall: float = 0.0
    """Wait ``hang_seconds``, then reset the connection without accepting."""
    drop: float = 0.0
    """Reset the connection at once without accepting."""
    lost: float = 0.0
    """Accept, then reset the connection without an answer."""
    garbage: float = 0.0
    """Accept, then answer with bytes that are not of the protocol."""

    def __post_init__(self) -> None:
        """Raise ``SettingsError`` for a value outside [0, 1] or a sum above 1."""
        for name, value in (*self.drawn(), ("permanent", self.permanent)):
            if not 0.0 <= value <= 1.0:
                raise SettingsError(f"chances.{name}", f"{value} is not between 0 and 1")
        total = math.fsum(value for _, value in self.drawn())
        if total > 1.0 + 1e-9:
            raise SettingsError("chances", f"they add up to {total:g}; at most 1 is possible")

    def drawn(self) -> tuple[tuple[str, float], ...]:
        """Return the chances that are drawn per attempt, in the order in which they are laid out."""
        return tuple((item.name, getattr(self, item.name)) for item in fields(self) if item.name != "permanent")


@dataclass(frozen=True, slots=True)
class Pace:
    """At most ``messages`` per ``seconds``, and ``burst`` at once after a rest."""

    messages: int
    seconds: float
    burst: int

    def __post_init__(self) -> None:
        """Raise ``SettingsError`` unless all three are above zero."""
        if self.messages < 1 or self.burst < 1 or not 0 < self.seconds < math.inf:
            raise SettingsError("pace", "messages, seconds and burst must be above 0")

    @property
    def per_second(self) -> float:
        """Messages per second in the long run."""
        return self.messages / self.seconds

    @classmethod
    def parse(cls, text: str) -> "Pace":
        """Read ``MESSAGES/SECONDS`` or ``MESSAGES/SECONDS/BURST``; burst defaults to messages."""
        parts = text.split("/")
        try:
            if len(parts) not in _PACE_PARTS:
                raise ValueError(text)  # noqa: TRY301 - one message for every malformed text
            messages = int(parts[0])
            return cls(messages, float(parts[1]), int(parts[2]) if parts[2:] else messages)
        except SettingsError:
            raise
        except ValueError as error:
            problem = f"{text!r} is not MESSAGES/SECONDS[/BURST], such as 500/1 or 500/1/50"
            raise SettingsError("pace", problem) from error


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What may change while the far end runs. Durations are in seconds."""

    chances: Chances = field(default_factory=Chances)
    pace: Pace | None = None
    key_window: float = 86_400.0
    """HTTP: how long an accepted key is remembered, from its acceptance. 0: not at all."""
    smtp_key_window: float = 0.0
    """The same for SMTP, where the key is the local part of the Message-ID."""
    latency: float = 0.0
    """Waited before each hand-off is decided."""
    jitter: float = 0.0
    """Up to this much is added to the latency, by seed, key and attempt."""
    hang_seconds: float = 30.0
    retry_after: float = 1.0
    """The wait named in a throttled answer that no pace limit has computed."""
    account_after: int | None = None
    """From this many hand-offs on (counted since the start) everything is an account error."""
    outage: Outage = Outage.NONE

    def __post_init__(self) -> None:
        """Raise ``SettingsError`` for a negative or unending duration or count."""
        for name in ("latency", "jitter", "hang_seconds", "retry_after"):
            _check_duration(name, getattr(self, name), math.inf)
        for name in ("key_window", "smtp_key_window"):
            _check_duration(name, getattr(self, name), None)
        if self.account_after is not None and self.account_after < 0:
            raise SettingsError("account_after", f"{self.account_after} is below 0")

    def window(self, protocol: str) -> float:
        """Return how long keys of ``protocol`` (``http`` or ``smtp``) are remembered."""
        return self.smtp_key_window if protocol == "smtp" else self.key_window


def _check_duration(name: str, value: float, bound: float | None) -> None:
    if not value >= 0 or (bound is not None and value >= bound):
        raise SettingsError(name, f"{value} is not a number of seconds, 0 or more")

"""Pace: the limit that the far end holds, and the measure of how far senders exceeded it.

In: arrival times in seconds. Out: how long to wait, or how many messages were too many. Pure but
for the gate's one number.
"""

from collections.abc import Iterable

from sendonce_cli.simulate.behaviour import Pace


class PaceGate:
    """A generic cell rate gate: admits up to rate·t + burst messages in any span of t seconds.

    The rule is ITU-T I.371's virtual scheduling; messages that are turned away use up nothing.
    """

    def __init__(self) -> None:
        self._next = float("-inf")

    def wait(self, pace: Pace, now: float) -> float:
        """Admit a message at ``now`` and return 0, or return the seconds until one would be."""
        after = max(self._next, now) + 1 / pace.per_second
        early = after - now - pace.burst / pace.per_second
        # A nanosecond of tolerance: float sums must not turn away an exactly paced sender.
        if early > 1e-9:  # noqa: PLR2004
            return early
        self._next = after
        return 0.0


def pace_excess(arrivals: Iterable[float], pace: Pace) -> float:
    """Return the largest number of messages above rate·t + burst over all spans of the arrivals.

    Arrivals are seconds in any order. 0 means that the pace was kept everywhere.
    """
    level, last, worst = 0.0, float("-inf"), 0.0
    for moment in sorted(arrivals):
        level = max(0.0, level - (moment - last) * pace.per_second) + 1
        last = moment
        worst = max(worst, level - pace.burst)
    return worst

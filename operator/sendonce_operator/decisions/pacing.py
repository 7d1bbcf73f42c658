"""The pace that a campaign should have now: what is open and its providers' limits in, deliveries per second out.

A provider's pace is shared. Nobody is promised more than an equal part of it, and who stands behind a higher priority
gets a tenth of that: so much it has for certain (docs/pace.md). What comes due slowly is not expected to go fast, and
where a handful of messages would be the measure, nothing is expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sendonce_operator.decisions.progress import MEMORY_SECONDS
from sendonce_store.backlog import Line

Place = tuple[str, str, str]
BEHIND_SHARE = 0.1
# fewer deliveries than a minute's worth are expected to take a minute
SPREAD_SECONDS = 60.0
# with fewer in the time over which a pace is measured it goes up and down with each of them
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Contest:
    """Who could hand off over each provider now: how many campaigns of each priority."""

    rivals: Mapping[Place, Counter[int]] = field(default_factory=dict)

    def share(self, place: Place, priority: int) -> float:
        """The part of a provider's pace that a campaign of this priority has for certain."""
        rivals = self.rivals.get(place, Counter())
        ahead = any(other > priority for other in rivals)
        return (BEHIND_SHARE if ahead else 1.0) / max(rivals.total(), 1)


def contest(lines: Iterable[Line], priorities: Mapping[int, int]) -> Contest:
    """Count the campaigns that have something to hand off; `priorities` are of those that could."""
    rivals: dict[Place, Counter[int]] = {}
    for line in lines:
        if line.ready and line.campaign_id in priorities:
            rivals.setdefault(line.place, Counter())[priorities[line.campaign_id]] += 1
    return Contest(rivals)


def wanted(lines: Iterable[Line], limits: Mapping[Place, float | None], priority: int, rivals: Contest) -> float:
    """Deliveries per second that a campaign should end over the providers that have a limit; 0 for hardly any."""
    found = 0.0
    for line in lines:
        limit = limits.get(line.place)
        if limit is not None:
            found += min(limit * rivals.share(line.place, priority), line.ready / SPREAD_SECONDS)
    return found if found * MEMORY_SECONDS >= FEWEST else 0.0

"""Every few seconds: how all campaigns and providers stand, for the metrics. What was read elsewhere in, figures out.

Only what is open in the queue is read for it. While the store is away, its numbers are missing, and the objects still
say how they stand.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sendonce_operator.decisions.figures import (
    CampaignFigures,
    ProviderFigures,
    Sighting,
    campaign_figures,
    provider_figures,
    troubled_since,
)
from sendonce_operator.decisions.pacing import Contest, Place, contest
from sendonce_operator.decisions.progress import works
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import Key
from sendonce_operator.providing import facts_of
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_operator.watched import provider_key
from sendonce_store import backlog
from sendonce_store.backlog import Line
from sendonce_store.spec import CampaignStatus

SECONDS = 5.0


class Measuring:
    """Looks again and again, and remembers since when providers let nothing through."""

    def __init__(self, runtime: Runtime) -> None:
        """Nothing is read yet."""
        self._runtime = runtime
        self._troubled: dict[Place, float] = {}

    async def measure(self) -> None:
        """Show how all stand now."""
        lines = await self._lines()
        now = time.monotonic()
        self._troubled = troubled_since(self._troubled, list(self._runtime.pauses.values()), now)
        self._runtime.metrics.fleet.show(self._campaigns(lines), self._providers(lines or [], now))

    async def _lines(self) -> list[Line] | None:
        if self._runtime.store_down is not None:
            return None
        try:
            async with self._runtime.ledger.use() as conn:
                return await backlog.read(conn)
        except STORE_ERRORS:
            # the look at all campaigns fails of the same, and says so
            return None

    # --- campaigns ---------------------------------------------------------------------------------------------------
    def _campaigns(self, lines: Sequence[Line] | None) -> dict[Key, CampaignFigures]:
        rivals = contest(lines or [], self._priorities())
        by_campaign: dict[int, list[Line]] = {}
        for line in lines or []:
            by_campaign.setdefault(line.campaign_id, []).append(line)
        found = {}
        for key, campaign in self._runtime.watched.campaigns.items():
            tracked = self._runtime.tracked.get(key) or Tracked(campaign.subject.uid)
            own = None if lines is None else by_campaign.get(tracked.campaign_id or 0, [])
            figures = campaign_figures(self._sighting(campaign, tracked, own, rivals))
            if figures is not None:
                found[key] = figures
        return found

    def _priorities(self) -> dict[int, int]:
        looked = (one.overview for one in self._runtime.tracked.values())
        return {overview.id: overview.priority for overview in looked if overview is not None and works(overview)}

    def _sighting(
        self, campaign: Campaign, tracked: Tracked, lines: Sequence[Line] | None, rivals: Contest
    ) -> Sighting:
        status = campaign.subject.status or CampaignStatus()
        return Sighting(
            now=self._runtime.now(),
            status=status,
            overview=tracked.overview,
            progress=tracked.progress,
            lines=lines,
            # of those that are over there may be many
            limits={} if status.completion_time else self._limits(campaign),
            rivals=rivals,
        )

    def _limits(self, campaign: Campaign) -> Mapping[Place, float | None]:
        rates = {(one.kind, one.name): one.per_second for one in facts_of(self._runtime, campaign)}
        messages = campaign.spec.messages if campaign.spec else ()
        keys = [provider_key(message, campaign.key.namespace) for message in messages]
        return {(key.kind, key.namespace, key.name): rates.get((key.kind, key.name)) for key in keys}

    # --- providers ---------------------------------------------------------------------------------------------------
    def _providers(self, lines: Sequence[Line], now: float) -> dict[Key, ProviderFigures]:
        by_place: dict[Place, list[Line]] = {}
        for line in lines:
            by_place.setdefault(line.place, []).append(line)
        return {
            key: provider_figures(
                state, self._troubled.get(place), now, by_place.get(place, []), self._runtime.pace_of(key)
            )
            for key, state in self._runtime.pauses.items()
            if (place := (key.kind, key.namespace, key.name)) in by_place or key in self._runtime.watched.providers
        }

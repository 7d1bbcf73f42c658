"""What the operator's parts share: settings, the cluster, the store, what is watched, and what is known of campaigns.

All of it can be lost: after a restart it is read anew.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sendonce_operator.canary import Canary
from sendonce_operator.cluster import Cluster
from sendonce_operator.decisions.facts import (
    Adoption,
    FarEndError,
    ProviderFacts,
    Refusal,
    Situation,
    provider_facts,
)
from sendonce_operator.decisions.progress import Progress
from sendonce_operator.ledger import Ledger
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import Key
from sendonce_operator.settings import OperatorSettings
from sendonce_operator.tenants import Tenants
from sendonce_operator.watched import Watched
from sendonce_store import operating
from sendonce_store.connection import Connection
from sendonce_store.standing import Overview

logger = logging.getLogger(__name__)
# the uid and the generation of a provider, and the end of its pause
FactsAt = tuple[tuple[str, int], datetime | None]


@dataclass(slots=True)
class Tracked:
    """What is known of one campaign object beside the object itself. Times are the loop's.

    `campaign_id`: its row, None while it has none. `settled`: it has ended, and its object says so.
    """

    uid: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    campaign_id: int | None = None
    adoption: Adoption = Adoption.NEW
    refusal: Refusal | None = None
    reconciled: int = -1  # the generation that was reconciled last
    retry_at: float | None = None
    failures: int = 0
    overview: Overview | None = None  # as last read
    progress: Progress | None = None
    errors: tuple[FarEndError, ...] | None = None
    errors_of: tuple[int, int] = (0, 0)  # the counts that the errors were read for
    errors_at: float = float("-inf")
    patched_at: float = float("-inf")
    shown: Situation | None = None  # what the object was last found to say, and when
    shown_at: float = float("-inf")
    name_taken: datetime | None = None  # since when its Deployment's name has been found to be somebody else's
    conducted_at: float = float("-inf")
    conducting: asyncio.Task[None] | None = None  # while that takes its time
    settled: bool = False


class Runtime:
    """One operator."""

    def __init__(self, settings: OperatorSettings, cluster: Cluster, metrics: OperatorMetrics) -> None:
        """Nothing is read yet, and nothing is opened."""
        self.settings = settings
        self.cluster = cluster
        self.ledger = Ledger(settings.current_dsn)
        # reconciles that wait for the API server must not keep the loop from looking
        self.look_ledger = Ledger(settings.current_dsn, size=1)
        # what goes over all of a campaign's deliveries, for a minute perhaps, must not keep the rest from reconciling
        self.slow_ledger = Ledger(settings.current_dsn, size=4)
        self.metrics = metrics
        self.watched = Watched(self.touch)
        self.canary = Canary()
        defaults = settings.defaults
        self.tenants = Tenants(cluster, settings.store_address, defaults.store_secret, defaults.store_secret_key)
        self.tracked: dict[Key, Tracked] = {}
        self.touched: set[Key] = set()
        self.wake = asyncio.Event()
        self.synced: dict[Key, tuple[str, int]] = {}  # providers that the store has, as of which generation
        self.facts: dict[Key, tuple[FactsAt, ProviderFacts]] = {}  # of providers, and what they were made from
        self.gone: set[Key] = set()  # providers whose objects were deleted, and that the store may not know of yet
        self.pauses: dict[Key, operating.ProviderState] = {}
        self.read_at = float("inf")  # when the store was last read for all campaigns, by the loop's clock
        self.store_down: str | None = None  # why the store can't be used now
        self._store_id: str | None = None

    async def close(self) -> None:
        """Close the connections to the store."""
        await self.ledger.close()
        await self.look_ledger.close()
        await self.slow_ledger.close()

    def touch(self, key: Key) -> None:
        """Something happened to an object."""
        self.touched.add(key)
        self.wake.set()

    def track(self, campaign: Campaign) -> Tracked:
        """What is known of an object; another uid under the same name is somebody else."""
        known = self.tracked.get(campaign.key)
        if known is None or known.uid != campaign.subject.uid:
            known = self.tracked[campaign.key] = Tracked(campaign.subject.uid)
        return known

    def pace_of(self, key: Key) -> float | None:
        """Messages per second that a provider's limits allow; None: unlimited, or not known."""
        provider = self.watched.providers.get(key)
        if provider is None or provider.spec is None:
            return None
        return provider_facts(key.kind, key.name, provider.spec).per_second

    async def store_id(self, conn: Connection) -> str:
        """The identity of the store."""
        if self._store_id is None:
            self._store_id = await operating.store_id(conn)
        return self._store_id

    @staticmethod
    def now() -> datetime:
        """The operator's clock, in whole seconds."""
        return datetime.now(UTC).replace(microsecond=0)

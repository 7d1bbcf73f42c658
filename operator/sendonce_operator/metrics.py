"""What the operator measures of itself and of campaigns, for Prometheus; series of a gone campaign go away."""

from __future__ import annotations

from dataclasses import fields

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sendonce_operator.paths import Key
from sendonce_store.standing import Counts, Overview

_STATES = tuple(state.name for state in fields(Counts))


class OperatorMetrics:
    """The operator's series in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all series."""
        self.registry = registry
        self.reconcile = Histogram(
            "sendonce_reconcile_duration_seconds", "Time for one reconcile of an object", ["kind"], registry=registry
        )
        self.tick = Histogram(
            "sendonce_tick_duration_seconds", "Time for one look at all active campaigns", registry=registry
        )
        self.failures = Counter(
            "sendonce_reconcile_failures_total", "Reconciles that will be tried again", ["why"], registry=registry
        )
        self.writes = Counter("sendonce_api_writes_total", "Writes to the API server", ["what"], registry=registry)
        self.canary_age = Gauge(
            "sendonce_watch_canary_age_seconds", "Since the watch has shown the last canary", registry=registry
        )
        self.store_up = Gauge(
            "sendonce_store_up", "Whether the store could be used at the last look", registry=registry
        )
        self._campaigns = Gauge(
            "sendonce_campaign_deliveries",
            "Deliveries of a campaign by state",
            ["namespace", "campaign", "state"],
            registry=registry,
        )

    def campaign(self, key: Key, overview: Overview) -> None:
        """Show a campaign's counts."""
        for state in _STATES:
            self._campaigns.labels(key.namespace, key.name, state).set(getattr(overview.counts, state))

    def forget(self, key: Key) -> None:
        """A campaign has ended, or is gone."""
        for state in _STATES:
            try:
                self._campaigns.remove(key.namespace, key.name, state)
            except KeyError:
                return

"""What a gateway counts, for Prometheus. No label has a name, an address or a token: their number is bounded."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from sendonce_store.serving import RequestMetrics

__all__ = ["GatewayMetrics"]


class GatewayMetrics:
    """The gateway's metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register every metric. ValueError if the registry has them already."""
        self.registry = registry
        self.requests = RequestMetrics(registry, "gateway")
        self._store_up = Gauge("sendonce_gateway_store_up", "1: the store answers this process.", registry=registry)
        self._wishes = Counter(
            "sendonce_gateway_wishes", "Opt-outs and opt-ins recorded.", ("wish", "way"), registry=registry
        )
        self._enqueued = Counter(
            "sendonce_gateway_enqueued", "Recipients taken for standing campaigns, repeats too.", registry=registry
        )

    def store_answers(self, *, answers: bool) -> None:
        """Whether the store can be used now."""
        self._store_up.set(answers)

    def wished(self, wish: str, way: str, count: int = 1) -> None:
        """Count what people asked for. `wish`: out or in. `way`: one-click, page or preferences."""
        self._wishes.labels(wish, way).inc(count)

    def enqueued(self) -> None:
        """Count a recipient that an application added."""
        self._enqueued.inc()

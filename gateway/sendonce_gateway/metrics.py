"""What a gateway counts, for Prometheus. No label has a name, an address or a token: their number is bounded."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

__all__ = ["GatewayMetrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class GatewayMetrics:
    """The gateway's metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register every metric. ValueError if the registry has them already."""
        self.registry = registry
        self._requests = Counter(
            "sendonce_gateway_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._duration = Histogram(
            "sendonce_gateway_request_seconds", "Time to an answer.", ("route",), registry=registry, buckets=_SECONDS
        )
        self._wishes = Counter(
            "sendonce_gateway_wishes", "Opt-outs and opt-ins recorded.", ("wish", "way"), registry=registry
        )
        self._enqueued = Counter(
            "sendonce_gateway_enqueued", "Recipients taken for standing campaigns, repeats too.", registry=registry
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request. `route`: its pattern, never its path."""
        self._requests.labels(route, str(status)).inc()
        self._duration.labels(route).observe(seconds)

    def wished(self, wish: str, way: str, count: int = 1) -> None:
        """Count what people asked for. `wish`: out or in. `way`: one-click, page or preferences."""
        self._wishes.labels(wish, way).inc(count)

    def enqueued(self) -> None:
        """Count a recipient that an application added."""
        self._enqueued.inc()

"""An operator that knows one campaign and its provider, and what stands in for its API server."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from sendonce_operator.cluster import Object
from sendonce_operator.decisions.facts import Defaults
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN, Campaign
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import OperatorSettings


class Recorder:
    """Calls to an API server that has one campaign and its Deployment, and takes everything."""

    def __init__(self) -> None:
        self.live: Object | None = None
        self.status: Object = {}
        self.writes: list[tuple[str, Object]] = []

    async def find(self, _: str) -> Object | None:
        return self.live

    async def apply(self, _: str, body: Object) -> Object:
        self.writes.append(("apply", body))
        self.live = {**body, "metadata": {**body["metadata"], "uid": "d"}}
        return self.live

    async def create(self, _: str, body: Object) -> Object:
        return body

    async def patch(self, path: str, body: Object) -> Object:
        self.writes.append(("patch", body))
        if path.endswith("/status"):
            return self._campaign(body["status"])
        assert self.live is not None
        self.live = {**self.live, "spec": {**self.live["spec"], **body["spec"]}}
        return self.live

    def _campaign(self, patch: Object) -> Object:
        self.status = merged(self.status, patch)
        version = {"resourceVersion": str(1 + len(self.writes))}
        return {**CAMPAIGN_BODY, "metadata": {**CAMPAIGN_BODY["metadata"], **version}, "status": self.status}


def merged(old: Object, patch: Object) -> Object:
    """What a merge patch makes of an object."""
    both = {
        key: merged(old.get(key) or {}, value) if isinstance(value, dict) else value for key, value in patch.items()
    }
    return {key: value for key, value in {**old, **both}.items() if value is not None}


def metadata(name: str) -> Object:
    when = "2026-11-01T10:00:00Z"
    return {
        "name": name,
        "namespace": "shop",
        "uid": name,
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": when,
    }


PROVIDER_BODY: Object = {
    "metadata": metadata("api"),
    "spec": {
        "type": "HTTP",
        "http": {"url": "https://far.example/send", "idempotencyKeyHeader": "K", "keyWindowSeconds": 86_400},
        "credentialsSecretRef": {"name": "keys"},
        "limits": [{"messages": 5, "periodSeconds": 1}],
    },
}
CAMPAIGN_BODY: Object = {
    "metadata": metadata("spring"),
    "spec": {
        "category": "Transactional",
        "recipients": {"inline": [{"id": "p", "email": "p@example.com"}]},
        "messages": [
            {
                "channel": "Email",
                "providerRef": {"name": "api"},
                "template": {"from": "n@example.com", "subject": "s", "text": "t"},
            }
        ],
    },
}


@pytest.fixture
def cluster() -> Recorder:
    return Recorder()


@pytest.fixture
def runtime(cluster: Recorder) -> Runtime:
    settings = OperatorSettings("postgresql:///none", "operator", Defaults("worker:1"))
    standing_in: Any = cluster
    return Runtime(settings, standing_in, OperatorMetrics(CollectorRegistry()))


@pytest.fixture
def campaign(runtime: Runtime) -> Campaign:
    found = runtime.watched.note(CAMPAIGN, CAMPAIGN_BODY)
    assert found is not None
    return found

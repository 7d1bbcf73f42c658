"""The campaign of `helm test`: a far end in this Pod, a campaign over it, and its ledger as the judge.

The far end refuses some hand-offs and loses some answers, so that retries and idempotency keys are proved as well.
Everything has a name of its own for each run, and is taken away at the end.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sendonce_cli.chart.api import Api, ApiError, Object
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.simulate.behaviour import Behaviour, Chances
from sendonce_cli.simulate.ledger import Ledger
from sendonce_cli.simulate.server import Simulator, serve
from sendonce_cli.simulate.settings import SimulatorSettings

API_VERSION = "sendonce.dev/v1alpha1"
TROUBLE = Chances(transient=0.05, lost=0.05)
LOOK_SECONDS = 0.5
GONE_SECONDS = 60.0
# Stalled may be shown for a moment, while references are not seen yet.
PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: what is sent to whom."""

    name: str
    namespace: str
    host: str
    people: int

    @property
    def addresses(self) -> list[str]:
        """Addresses that belong to nobody (RFC 2606)."""
        return [f"p{number}@example.com" for number in range(self.people)]

    def objects(self, port: int) -> list[tuple[str, Object]]:
        """Paths of collections, and what is to be made in them, in that order."""
        core, ours = f"/api/v1/namespaces/{self.namespace}", f"/apis/{API_VERSION}/namespaces/{self.namespace}"
        return [
            (f"{core}/configmaps", self._people()),
            (f"{ours}/notificationproviders", self._provider(port)),
            (f"{ours}/notificationcampaigns", self._campaign()),
        ]

    def _people(self) -> Object:
        lines = "".join(f"{no},{address}\n" for no, address in enumerate(self.addresses))
        data = {"people.csv": f"id,email\n{lines}"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name}, "data": data}

    def _provider(self, port: int) -> Object:
        host = f"[{self.host}]" if ":" in self.host else self.host
        http = {
            "url": f"http://{host}:{port}/send",
            "idempotencyKeyHeader": "Idempotency-Key",
            "keyWindowSeconds": 86_400,
        }
        spec = {"type": "HTTP", "http": http, "timeoutSeconds": 5}
        return {
            "apiVersion": API_VERSION,
            "kind": "NotificationProvider",
            "metadata": {"name": self.name},
            "spec": spec,
        }

    def _campaign(self) -> Object:
        template = {"from": "test@example.com", "subject": "A test", "text": "It works."}
        spec = {
            "category": "Transactional",
            "recipients": {"configMapKeyRef": {"name": self.name, "key": "people.csv"}, "format": "CSV"},
            "messages": [{"channel": "Email", "providerRef": {"name": self.name}, "template": template}],
            "retry": {"maxAttempts": 20, "initialDelaySeconds": 1, "factor": 1, "maxDelaySeconds": 1},
            "workers": {"max": 1},
            "dataRetentionDays": 1,
        }
        metadata = {"name": self.name, "labels": {"app.kubernetes.io/part-of": "sendonce"}}
        return {"apiVersion": API_VERSION, "kind": "NotificationCampaign", "metadata": metadata, "spec": spec}


def prove(api: Api, host: str, people: int, timeout: float) -> list[str]:
    """Send to so many people within `timeout` seconds; returns the proof in lines. Raises CliError."""
    trial = Trial(f"sendonce-test-{uuid.uuid4().hex[:8]}", api.namespace, host, people)
    return asyncio.run(_run(api, trial, timeout))


async def _run(api: Api, trial: Trial, seconds: float) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "far-end.ndjson"
        address = "::" if ":" in trial.host else "0.0.0.0"  # noqa: S104 - workers come from other Pods
        settings = SimulatorSettings(ledger=ledger, host=address, behaviour=Behaviour(chances=TROUBLE))
        async with serve(settings) as far_end:
            return await asyncio.to_thread(_prove, api, trial, far_end, seconds)


def _prove(api: Api, trial: Trial, far_end: Simulator, seconds: float) -> list[str]:
    with made(api, trial, far_end.http_port) as path:
        status = _until_complete(api, path, seconds)
        return judged(trial, status, Ledger.read(far_end.ledger_path))


@contextmanager
def made(api: Api, trial: Trial, port: int) -> Iterator[str]:
    """Make the objects; yields the campaign's path, and takes everything away, the campaign first."""
    paths: list[str] = []
    try:
        for path, body in trial.objects(port):
            api.create(path, body)
            paths.append(f"{path}/{trial.name}")
        yield paths[-1]
    except ApiError as error:
        raise CliError(f"the campaign of the test can't be made: {error}") from error
    finally:
        for path in reversed(paths):
            api.delete(path)
            _until_gone(api, path)


def _until_gone(api: Api, path: str) -> None:
    end = time.monotonic() + GONE_SECONDS
    if "/configmaps/" in path:
        return
    while api.find(path) is not None and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)


def _condition(campaign: Object, kind: str) -> Object:
    conditions = (campaign.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == kind), {})


def _until_complete(api: Api, path: str, timeout: float) -> Object:
    """The status of the finished campaign. Raises CliError with what the campaign says."""
    began = time.monotonic()
    while True:
        campaign = api.get(path)
        if _condition(campaign, "Complete").get("status") == "True":
            status: Object = campaign["status"]
            return status
        waited = time.monotonic() - began
        stalled = _condition(campaign, "Stalled").get("status") == "True"
        if waited > timeout or (stalled and waited > PATIENCE_SECONDS):
            raise CliError(_why(campaign, waited), Exit.WAITS)
        time.sleep(LOOK_SECONDS)


def _why(campaign: Object, waited: float) -> str:
    ready = _condition(campaign, "Ready")
    if not ready:
        return f"the operator has not looked at the campaign within {waited:.0f} s: see its log"
    return f"the campaign is not complete after {waited:.0f} s: {ready.get('reason')}: {ready.get('message')}"


def judged(trial: Trial, status: Object, ledger: Ledger) -> list[str]:
    """What the far end's ledger says of everybody. Raises CliError if anybody was lost, or got it twice."""
    accepted = Counter({to: times for (to, _, _), times in ledger.accepted().items()})
    wanted = Counter(trial.addresses)
    lost, twice, sent = (wanted - accepted).total(), (accepted - wanted).total(), status["deliveries"]["sent"]
    counts = ledger.summary()
    said = f"{len(ledger.rows)} hand-offs, {counts['answers_lost']} answers lost"
    if lost or twice or sent != trial.people:
        raise CliError(f"the far end's ledger: {lost} lost, {twice} twice; the campaign says {sent} sent ({said})")
    return [
        f"{trial.people} people, each accepted once by the far end's own ledger: 0 lost, 0 twice.",
        f"({said}, and made good by retries with the same keys)",
    ]

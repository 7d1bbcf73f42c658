"""What the operator has read of the world when it decides. Built by the side that reads, and only read here.

Times are aware, in UTC. Nothing here is written to the cluster; the names on the wire are those of the spec models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar

from sendonce_operator.decisions.progress import Progress
from sendonce_operator.decisions.worker_defaults import WorkerDefaults
from sendonce_store.spec import CampaignSpec, CampaignStatus, ProviderSpec, SpecModel
from sendonce_store.standing import Overview

S = TypeVar("S", bound=SpecModel)

LEDGER_ANNOTATION = "sendonce.dev/ledger"
"""Names the store that has the campaign's rows; written before anything else is made for it."""


@dataclass(frozen=True, slots=True)
class Subject(Generic[S]):
    """One object of the cluster: its metadata, and its status as last seen (None: none yet, or unreadable)."""

    uid: str
    namespace: str  # '' for an object of the whole cluster
    name: str
    generation: int
    resource_version: str
    created_at: datetime
    deleting: bool
    annotations: Mapping[str, str]
    status: S | None


@dataclass(frozen=True, slots=True)
class PodTrouble:
    """Why a Pod does not run, as the cluster says it.

    `reason`: the Pod's or the container's (Unschedulable, ImagePullBackOff, CrashLoopBackOff, …), FailedCreate when
    there is no Pod at all. `message`: its message; of a container that ended, its termination message. `exit_code`: of
    a container that ended.
    """

    reason: str
    message: str
    since: datetime
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Workforce:
    """A campaign's workers as the cluster shows them.

    `absent_since`: since when none is ready though some are wanted (the Deployment's condition Available), None where
    that is not so or not known.
    """

    desired: int = 0
    ready: int = 0
    trouble: PodTrouble | None = None
    absent_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """One limit of a provider: so many messages per so many seconds."""

    messages: int
    period_seconds: int

    @property
    def per_second(self) -> float:
        """Messages per second in the long run."""
        return self.messages / self.period_seconds


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """What sizing and the Deployment need of a provider. `secrets`: names of the Secrets that its workers read."""

    name: str
    kind: str
    limits: tuple[Pace, ...] = ()
    max_in_flight: int = 64
    timeout_seconds: int = 30
    key_window: int | None = None
    suspended: bool = False
    paused_until: datetime | None = None
    secrets: tuple[str, ...] = ()

    @property
    def per_second(self) -> float | None:
        """Messages per second that all limits together allow; None: unlimited."""
        return min((limit.per_second for limit in self.limits), default=None)


class Mode(Enum):
    """Whether this operator sends. Standby accepts campaigns and holds all of them."""

    NORMAL = "Normal"
    STANDBY = "Standby"


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the operator's own settings say of every worker.

    `user`: the numeric user of the Pods, None to leave it to the image or to the cluster. `resources`: for campaigns
    that give none. `environment`: further variables of the worker, such as a proxy. `ca_config_map`: a ConfigMap of
    each campaign's namespace whose key `ca_key` holds the certificate authorities to trust; None: the image's.
    `pods`: where they run, and what they are labelled with. `gateway_url`: where links in messages lead, if anywhere.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    service_account: str | None = None
    store_secret: str = "sendonce-store"  # noqa: S105 - a Secret's name
    store_secret_key: str = "dsn"  # noqa: S105 - its key
    max_workers: int = 50  # per campaign, whatever it asks for
    mode: Mode = Mode.NORMAL
    user: int | None = 65532
    resources: Mapping[str, Mapping[str, Any]] | None = None
    log_level: str = "INFO"
    environment: Mapping[str, str] | None = None
    ca_config_map: str | None = None
    ca_key: str = "ca.crt"
    pods: WorkerDefaults = field(default_factory=WorkerDefaults)
    gateway_url: str | None = None


@dataclass(frozen=True, slots=True)
class FarEndError:
    """How many deliveries ended alike, with one of the far end's answers. `code` is the far end's, if it gave one."""

    code: str | None
    reason: str | None
    count: int
    message: str | None


class Adoption(Enum):
    """What the object found under its send key.

    NEW: this object began the campaign. CONTINUED: another object began it, and this one goes on. ALREADY_SENT: it
    had ended before this object came.
    """

    NEW = "new"
    CONTINUED = "continued"
    ALREADY_SENT = "already sent"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing can be done for an object now. `stalled`: a person is needed; else it passes by itself."""

    reason: str
    message: str
    stalled: bool


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a campaign's status is made from.

    `spec` is None where it can't be read, `overview` where the store has no row of this object's or can't be reached;
    `refusal` says why. `workforce` is None where the cluster was not asked: then the workers of the last status stand.
    `errors` is None where they were not read anew: then the last status' stand. `now` is the operator's clock, in whole
    seconds. `providers` are those of the campaign's messages, as far as they are known.
    """

    subject: Subject[CampaignStatus]
    now: datetime
    spec: CampaignSpec | None = None
    overview: Overview | None = None
    providers: tuple[ProviderFacts, ...] = ()
    refusal: Refusal | None = None
    workforce: Workforce | None = None
    errors: tuple[FarEndError, ...] | None = None
    progress: Progress | None = None
    adoption: Adoption = Adoption.NEW
    mode: Mode = Mode.NORMAL

    @property
    def old(self) -> CampaignStatus:
        """The status as last seen; an empty one where there was none."""
        return self.subject.status or CampaignStatus()

    @property
    def held_by(self) -> str | None:
        """Who wishes that nothing is handed off now: SpecSuspend or Standby; None: nobody."""
        if (self.spec is not None and self.spec.suspend) or (self.spec is None and self._suspended):
            return "SpecSuspend"
        if self.mode is Mode.STANDBY:
            return "Standby"
        return "SpecSuspend" if self._suspended else None

    @property
    def _suspended(self) -> bool:
        return self.overview is not None and self.overview.suspended


def subject(body: Mapping[str, Any], status: type[S]) -> Subject[S]:
    """Read an object as the API server gives it; `status` is the model of its status."""
    metadata = body["metadata"]
    return Subject(
        uid=metadata["uid"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        generation=metadata.get("generation", 1),
        resource_version=metadata.get("resourceVersion", ""),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        deleting=metadata.get("deletionTimestamp") is not None,
        annotations=dict(metadata.get("annotations") or {}),
        status=_status(body.get("status"), status),
    )


def _status(wire: object, model: type[S]) -> S | None:
    """The status, or None where there is none; one that another version wrote and this can't read is no status."""
    try:
        return model.from_wire(wire) if wire else None
    except ValueError:
        return None


def provider_facts(kind: str, name: str, spec: ProviderSpec, paused_until: datetime | None = None) -> ProviderFacts:
    """What sizing and the Deployment need of a provider's spec."""
    return ProviderFacts(
        name=name,
        kind=kind,
        limits=tuple(Pace(limit.messages, limit.period_seconds) for limit in spec.paces),
        max_in_flight=spec.max_in_flight,
        timeout_seconds=spec.timeout_seconds,
        key_window=spec.key_window,
        suspended=spec.suspend,
        paused_until=paused_until,
        secrets=_secrets(spec),
    )


def _secrets(spec: ProviderSpec) -> tuple[str, ...]:
    http = spec.http.tls.ca_secret_ref if spec.http else None
    smtp = spec.smtp.ca_secret_ref if spec.smtp else None
    return tuple(sorted({ref.name for ref in (spec.credentials_secret_ref, http, smtp) if ref is not None}))

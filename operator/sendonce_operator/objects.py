"""Objects as the watches show them: JSON of the API server in, what the operator keeps of it out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from sendonce_operator.decisions.facts import Subject, subject
from sendonce_operator.paths import Key
from sendonce_store.applied import APPLIED_BY, applied_by
from sendonce_store.spec import (
    ActionSpec,
    ActionStatus,
    CampaignMetadata,
    CampaignSpec,
    CampaignStatus,
    ClusterMetadata,
    ClusterNotificationProvider,
    ClusterProviderSpec,
    Metadata,
    NotificationCampaign,
    NotificationProvider,
    ProviderSpec,
    ProviderStatus,
    SpecModel,
)

S = TypeVar("S", bound=SpecModel)
P = TypeVar("P", bound=SpecModel)
CAMPAIGN, PROVIDER, CLUSTER_PROVIDER, ACTION = (
    "NotificationCampaign",
    "NotificationProvider",
    "ClusterNotificationProvider",
    "NotificationAction",
)
_MODELS: Mapping[str, tuple[type[SpecModel], type[SpecModel]]] = {
    CAMPAIGN: (CampaignSpec, CampaignStatus),
    PROVIDER: (ProviderSpec, ProviderStatus),
    CLUSTER_PROVIDER: (ClusterProviderSpec, ProviderStatus),
    ACTION: (ActionSpec, ActionStatus),
}


@dataclass(frozen=True, slots=True)
class Seen(Generic[P, S]):
    """One object of ours. `spec` is None where it can't be read; `invalid` says why. `wire`: its status as it is."""

    key: Key
    subject: Subject[S]
    spec: P | None
    invalid: ValidationError | None = None
    wire: Mapping[str, Any] = field(default_factory=dict)
    owned: bool = False  # whether it has an owner, with which it goes
    wished_key: str | None = None  # `spec.sendKey`, also of a spec that can't be read
    applied_by: str | None = None

    @property
    def send_key(self) -> str:
        """A campaign's send key that counts: the one given, else its name."""
        return self.wished_key or self.key.name

    @property
    def at(self) -> tuple[str, int]:
        """The uid and the generation: what is the same spec."""
        return self.subject.uid, self.subject.generation


Campaign = Seen[CampaignSpec, CampaignStatus]
Provider = Seen[ProviderSpec, ProviderStatus]
Action = Seen[ActionSpec, ActionStatus]
AnySeen = Seen[Any, Any]


def key_of(kind: str, body: Mapping[str, Any]) -> Key:
    """Where an object is."""
    metadata = body["metadata"]
    return Key(kind, metadata.get("namespace", ""), metadata["name"])


def read(kind: str, body: Mapping[str, Any], known: AnySeen | None = None) -> AnySeen:
    """Read an object; a spec that is already known in the same generation is not read again."""
    spec_model, status_model = _MODELS[kind]
    mine = subject(body, status_model)
    key, wire, owned = key_of(kind, body), body.get("status") or {}, bool(body["metadata"].get("ownerReferences"))
    given = body.get("spec") or {}
    rest = (wire, owned, given.get("sendKey"), applied_by(body["metadata"]))
    if known is not None and known.at == (mine.uid, mine.generation):
        return Seen(key, mine, known.spec, known.invalid, *rest)
    try:
        return Seen(key, mine, spec_model.from_wire(given), None, *rest)
    except ValidationError as error:
        return Seen(key, mine, None, error, *rest)


def is_older(body: Mapping[str, Any], known: AnySeen | None) -> bool:
    """Whether an event tells of an object as it was before: watches lag behind what was read directly."""
    metadata = body["metadata"]
    if known is None or metadata["uid"] != known.subject.uid:
        return False
    old, new = known.subject.resource_version, metadata.get("resourceVersion", "")
    # resource versions of one object can be compared (KEP-5504)
    return old.isdecimal() and new.isdecimal() and int(new) < int(old)


def is_another(body: Mapping[str, Any], known: AnySeen | None) -> bool:
    """Whether an event tells of an object in whose place another one is: kopf tells of both in any order."""
    return known is not None and known.subject.uid != body["metadata"]["uid"]


def is_the_same(body: Mapping[str, Any], known: AnySeen | None) -> bool:
    """Whether an event tells what is known already, as the answer to a write and the lists of upkeep do."""
    return known is not None and known.subject.resource_version == body["metadata"].get("resourceVersion")


def document(campaign: Campaign, spec: CampaignSpec) -> NotificationCampaign:
    """The campaign as the store takes it."""
    told = {APPLIED_BY: campaign.applied_by} if campaign.applied_by else {}
    metadata = CampaignMetadata(name=campaign.key.name, namespace=campaign.key.namespace, annotations=told)
    return NotificationCampaign(metadata=metadata, spec=spec)


def provider_document(provider: Provider, spec: ProviderSpec) -> NotificationProvider | ClusterNotificationProvider:
    """The provider as the store takes it."""
    key = provider.key
    if isinstance(spec, ClusterProviderSpec):
        return ClusterNotificationProvider(metadata=ClusterMetadata(name=key.name), spec=spec)
    return NotificationProvider(metadata=Metadata(name=key.name, namespace=key.namespace), spec=spec)


def moment(text: str | None) -> datetime | None:
    """A time of the API server."""
    return datetime.fromisoformat(text) if text else None

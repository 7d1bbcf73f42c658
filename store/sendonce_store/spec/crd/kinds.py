"""What the API server wants to know of a kind beyond its fields: names, scope, columns, selectable fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from sendonce_store.spec.action import NotificationAction
from sendonce_store.spec.base import SpecModel
from sendonce_store.spec.campaign import NotificationCampaign
from sendonce_store.spec.provider import ClusterNotificationProvider, NotificationProvider

__all__ = ["CATEGORY", "GROUP", "RESOURCES", "VERSION", "Column", "ResourceKind"]

GROUP: Final = "sendonce.dev"
VERSION: Final = "v1alpha1"
CATEGORY: Final = "sendonce"
"""`kubectl get sendonce` lists the objects of all kinds."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; `wide` ones are shown with `-o wide`.

    A `date` lies in the past: kubectl says `<invalid>` for a future one, so those are strings.
    """

    name: str
    path: str
    type: str = "string"
    description: str = ""
    wide: bool = False

    def to_wire(self) -> dict[str, JsonValue]:
        """Return the entry of `additionalPrinterColumns`."""
        column: dict[str, JsonValue] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.description:
            column["description"] = self.description
        return column | {"priority": 1} if self.wide else column


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind: its model and what is said of it elsewhere. `namespaced` is false for a kind of the whole cluster."""

    model: type[SpecModel]
    short_name: str
    columns: tuple[Column, ...]
    selectable: tuple[str, ...]
    namespaced: bool = True

    @property
    def kind(self) -> str:
        """The kind, such as NotificationCampaign."""
        return self.model.__name__

    @property
    def plural(self) -> str:
        """The name in URLs and on the command line."""
        return f"{self.kind.lower()}s"

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


def _condition(kind: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


AGE = Column("AGE", ".metadata.creationTimestamp", "date")


def _count(name: str, state: str, *, wide: bool = False) -> Column:
    return Column(name, f".status.deliveries.{state}", "integer", f"Deliveries: {state}.", wide=wide)


CAMPAIGN_COLUMNS = (
    Column("STATUS", _condition("Ready", "reason"), description="The state in a word."),
    _count("TOTAL", "total"),
    _count("SENT", "sent"),
    _count("FAILED", "failed"),
    AGE,
    _count("PENDING", "pending", wide=True),
    _count("UNCERTAIN", "uncertain", wide=True),
    _count("SUPPRESSED", "suppressed", wide=True),
    _count("EXPIRED", "expired", wide=True),
    Column("ETA", ".status.estimatedCompletionTime", description="Estimated end.", wide=True),
    Column("CATEGORY", ".spec.category", description="Marketing or Transactional.", wide=True),
)
PROVIDER_COLUMNS = (
    Column("TYPE", ".spec.type", description="What kind of far end it is."),
    Column("READY", _condition("Ready", "status"), description="Whether it does what its spec says."),
    Column("STATUS", _condition("Ready", "reason"), description="The state in a word."),
    Column("PAUSED UNTIL", ".status.pausedUntil", description="No hand-off before this time."),
    AGE,
)
ACTION_COLUMNS = (
    Column("CAMPAIGN", ".spec.campaignRef.name", description="The campaign that is meant."),
    Column("TYPE", ".spec.type", description="Retry, Resolve, Promote or Resume."),
    Column("COMPLETE", _condition("Complete", "status"), description="Whether it was carried out."),
    Column("CHANGED", ".status.changed", "integer", "Deliveries that were changed."),
    AGE,
    Column("MATCHED", ".status.matched", "integer", "Deliveries that matched.", wide=True),
)

RESOURCES: tuple[ResourceKind, ...] = (
    ResourceKind(NotificationCampaign, "nc", CAMPAIGN_COLUMNS, (".spec.category", ".spec.suspend", ".spec.sendKey")),
    ResourceKind(NotificationProvider, "np", PROVIDER_COLUMNS, (".spec.type", ".spec.suspend")),
    ResourceKind(
        ClusterNotificationProvider, "cnp", PROVIDER_COLUMNS, (".spec.type", ".spec.suspend"), namespaced=False
    ),
    ResourceKind(NotificationAction, "na", ACTION_COLUMNS, (".spec.campaignRef.name", ".spec.type")),
)

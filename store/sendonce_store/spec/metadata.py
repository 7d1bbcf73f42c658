"""Object metadata, the API versions, and references to other objects of the same namespace."""

from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, JsonValue

from sendonce_store.spec.base import ATOMIC, DataKey, DnsLabel, DnsSubdomain, Int, SpecModel, Timestamp
from sendonce_store.spec.campaign_rules import CAMPAIGN_NAME_RULES
from sendonce_store.spec.rules import Rule

__all__ = [
    "API_VERSION",
    "CampaignMetadata",
    "ClusterMetadata",
    "ConfigMapKeyRef",
    "ConfigMapRef",
    "Metadata",
    "SecretKeyRef",
    "SecretRef",
]

API_VERSION: Final = "sendonce.dev/v1alpha1"
ApiVersion = Literal["sendonce.dev/v1alpha1"]


class ClusterMetadata(SpecModel):
    """Metadata of an object, as Kubernetes defines it; what only a cluster fills in is tolerated and not used."""

    name: DnsSubdomain = Field(description="Name of the object, unique per kind and namespace.")
    namespace: DnsLabel | None = Field(default=None, description="Not used: the object belongs to the whole cluster.")
    labels: dict[str, str] = Field(default={}, description="Labels.")
    annotations: dict[str, str] = Field(default={}, description="Annotations.")
    uid: str | None = Field(default=None, max_length=128, description="Set by the cluster.")
    resource_version: str | None = Field(default=None, max_length=128, description="Set by the cluster.")
    generation: Int | None = Field(
        default=None, ge=0, description="Set by the cluster; grows with each change of the spec."
    )
    creation_timestamp: Timestamp | None = Field(default=None, description="Set by the cluster.")
    deletion_timestamp: Timestamp | None = Field(default=None, description="Set by the cluster.")
    deletion_grace_period_seconds: Int | None = Field(default=None, ge=0, description="Set by the cluster.")
    generate_name: str | None = Field(default=None, max_length=253, description="Used by the cluster.")
    self_link: str | None = Field(default=None, max_length=2048, description="Used by the cluster.")
    finalizers: tuple[str, ...] = Field(default=(), description="Used by the cluster.")
    owner_references: tuple[dict[str, JsonValue], ...] = Field(default=(), description="Used by the cluster.")
    managed_fields: tuple[dict[str, JsonValue], ...] = Field(default=(), description="Used by the cluster.")


class Metadata(ClusterMetadata):
    """Metadata of an object that lives in a namespace."""

    namespace: DnsLabel = Field(default="default", description="Namespace of the object.")


class CampaignMetadata(Metadata):
    """Metadata of a campaign, whose name is short, because a Deployment is named after it."""

    RULES: ClassVar[tuple[Rule[Any], ...]] = CAMPAIGN_NAME_RULES


class ConfigMapRef(SpecModel):
    """A ConfigMap of the same namespace."""

    model_config = ConfigDict(json_schema_extra=ATOMIC)

    name: DnsSubdomain = Field(description="Name of the ConfigMap.")


class ConfigMapKeyRef(ConfigMapRef):
    """One key of a ConfigMap of the same namespace."""

    key: DataKey = Field(description="Key in `data` or `binaryData` of the ConfigMap.")


class SecretRef(SpecModel):
    """A Secret of the same namespace."""

    model_config = ConfigDict(json_schema_extra=ATOMIC)

    name: DnsSubdomain = Field(description="Name of the Secret.")


class SecretKeyRef(SecretRef):
    """One key of a Secret of the same namespace."""

    key: DataKey = Field(description="Key in `data` of the Secret.")

"""`spec.workers`: the Deployment that sends a campaign."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from sendonce_store.spec.base import DnsSubdomain, Int, SpecModel
from sendonce_store.spec.metadata import SecretRef

__all__ = [
    "Quantity",
    "ResourceRequirements",
    "TaintEffect",
    "Toleration",
    "TolerationOperator",
    "Workers",
]

Key = Annotated[str, Field(min_length=1, max_length=317)]
LABEL_VALUE = r"^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$"
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|[kMGTPE]i?|[eE][0-9]+)?$"
QUANTITY_WORDS = 'must be a quantity such as "500m", "256Mi" or 2'

LabelValue = Annotated[str, Field(pattern=LABEL_VALUE, max_length=63)]


def _one_error(value: object, check: Any) -> Any:  # noqa: ANN401 - pydantic's own handler type
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError("quantity", QUANTITY_WORDS) from None


Quantity = Annotated[
    Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] | Annotated[str, Field(pattern=QUANTITY, max_length=32)],
    WrapValidator(_one_error),
    Field(json_schema_extra={"x-kubernetes-int-or-string": True}),
]
"""A Kubernetes resource quantity."""


class ResourceRequirements(SpecModel):
    """Compute resources of a worker, as in a Pod."""

    requests: dict[Key, Quantity] = Field(
        default={},
        max_length=10,
        description="Resources that a worker is sure to get, such as cpu and memory.",
    )
    limits: dict[Key, Quantity] = Field(
        default={},
        max_length=10,
        description="Resources that a worker may use at most.",
    )


class TolerationOperator(StrEnum):
    """How a toleration compares its key."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class TaintEffect(StrEnum):
    """What a taint does to a Pod."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(SpecModel):
    """A taint that workers tolerate, as in a Pod."""

    key: Key | None = Field(default=None, description="Key of the taint; absent with operator Exists: all.")
    operator: TolerationOperator = Field(default=TolerationOperator.EQUAL, description="Exists or Equal.")
    value: LabelValue | None = Field(default=None, description="Value of the taint, with operator Equal.")
    effect: TaintEffect | None = Field(default=None, description="Effect of the taint; absent: all.")
    toleration_seconds: Int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Seconds to stay on a NoExecute taint."
    )


class Workers(SpecModel):
    """How many workers send the campaign, and how their Pods look."""

    max: Int = Field(default=10, ge=1, le=1000, description="Greatest number of worker Pods.")
    concurrency: Int = Field(default=64, ge=1, le=1000, description="Messages that one worker has in flight at most.")
    termination_grace_period_seconds: Int = Field(
        default=60,
        ge=5,
        le=3600,
        description="Seconds to finish what is in flight; raised to the provider's time-out plus a margin.",
    )
    resources: ResourceRequirements | None = Field(default=None, description="Compute resources of a worker.")
    pod_labels: dict[Key, LabelValue] = Field(default={}, max_length=50, description="Labels of the Pods.")
    pod_annotations: dict[Key, Annotated[str, Field(max_length=4096)]] = Field(
        default={},
        max_length=50,
        description="Annotations of the Pods.",
    )
    node_selector: dict[Key, LabelValue] = Field(
        default={},
        max_length=20,
        description="Labels of the nodes on which workers may run.",
    )
    tolerations: tuple[Toleration, ...] = Field(default=(), max_length=20, description="Taints that workers tolerate.")
    priority_class_name: DnsSubdomain | None = Field(default=None, description="PriorityClass of the Pods.")
    image_pull_secrets: tuple[SecretRef, ...] = Field(
        default=(),
        max_length=10,
        description="Secrets with registry credentials for the worker image.",
    )

"""`spec.allowedNamespaces` of a cluster provider: whose campaigns may use it."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from sendonce_store.spec.base import ATOMIC, SpecModel
from sendonce_store.spec.provider_rules import NAMESPACES_RULES, REQUIREMENT_RULES
from sendonce_store.spec.rules import Rule

__all__ = ["AllowedNamespaces", "LabelOperator", "LabelRequirement", "LabelSelector", "NamespacesFrom"]

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63)]


class NamespacesFrom(StrEnum):
    """How namespaces are chosen."""

    ALL = "All"
    SELECTOR = "Selector"


class LabelOperator(StrEnum):
    """How a label is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelRequirement(SpecModel):
    """One condition on a label, as in any Kubernetes label selector."""

    key: LabelKey = Field(description="Key of the label.")
    operator: LabelOperator = Field(description="In, NotIn, Exists or DoesNotExist.")
    values: tuple[LabelValue, ...] = Field(default=(), max_length=50, description="Values, with In and NotIn.")

    RULES: ClassVar[tuple[Rule[Any], ...]] = REQUIREMENT_RULES


class LabelSelector(SpecModel):
    """Labels that a namespace must have: all conditions hold."""

    model_config = ConfigDict(json_schema_extra=ATOMIC)

    match_labels: dict[LabelKey, LabelValue] = Field(
        default={},
        max_length=20,
        description="Labels with exactly these values.",
    )
    match_expressions: tuple[LabelRequirement, ...] = Field(
        default=(), max_length=20, description="Further conditions."
    )


class AllowedNamespaces(SpecModel):
    """Namespaces whose campaigns may use the provider."""

    from_: NamespacesFrom = Field(description="All, or Selector: those whose labels match.")
    selector: LabelSelector | None = Field(default=None, description="Labels of the namespaces, with Selector.")

    RULES: ClassVar[tuple[Rule[Any], ...]] = NAMESPACES_RULES

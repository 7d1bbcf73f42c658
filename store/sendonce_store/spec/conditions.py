"""What the statuses of all kinds share: conditions, as the Kubernetes API conventions define them."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import Int, SpecModel, Timestamp, list_map

__all__ = ["Condition", "ConditionStatus", "Conditions"]


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(SpecModel):
    """One aspect of an object's state."""

    type: str = Field(min_length=1, max_length=63, description="Name of the condition, such as Ready.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    observed_generation: Int | None = Field(default=None, ge=0, description="Generation of the spec it was judged by.")
    last_transition_time: Timestamp = Field(description="When the status last changed.")
    reason: str = Field(min_length=1, max_length=63, description="The state in one word.")
    message: str = Field(default="", max_length=1024, description="The state in a sentence.")


Conditions = Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra=list_map("type"))]

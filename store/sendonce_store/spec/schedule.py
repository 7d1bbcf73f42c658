"""`spec.schedule`: when a campaign may hand messages off."""

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from sendonce_store.spec.base import Int, SpecModel, TimeOfDay, Timestamp, Timezone
from sendonce_store.spec.campaign_rules import QUIET_HOURS_RULES, SCHEDULE_RULES
from sendonce_store.spec.rules import Rule

__all__ = ["FrequencyCap", "QuietHours", "Schedule", "UnknownTimezonePolicy"]


class UnknownTimezonePolicy(StrEnum):
    """What becomes of a recipient whose time zone is not known."""

    REJECT = "Reject"
    USE_DEFAULT = "UseDefault"
    GUESS_FROM_PHONE = "GuessFromPhone"


class QuietHours(SpecModel):
    """Hours of the recipient's own day in which nothing is sent; deliveries wait for their end."""

    from_: TimeOfDay = Field(description='First minute of the quiet hours, such as "21:00".')
    to: TimeOfDay = Field(description='First minute after them, such as "09:00"; may be on the next day.')
    default_timezone: Timezone | None = Field(
        default=None,
        description="IANA time zone of recipients without one: with UseDefault, or where GuessFromPhone finds none.",
    )
    unknown_timezone_policy: UnknownTimezonePolicy = Field(
        default=UnknownTimezonePolicy.REJECT,
        description="For recipients without a known time zone: Reject (ends as suppressed), UseDefault, or "
        "GuessFromPhone: by the country of the SMS address where all of it keeps one time, else defaultTimezone if "
        "given, else as Reject.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = QUIET_HOURS_RULES


class FrequencyCap(SpecModel):
    """A delivery that would be one too many ends as suppressed, FrequencyCap."""

    messages: Int = Field(ge=1, le=100, description="Most messages in the period.")
    period_days: Int = Field(ge=1, le=365, description="Days, counted back from each hand-off.")


class Schedule(SpecModel):
    """When messages may be handed off."""

    start_at: Timestamp | None = Field(
        default=None,
        description="No hand-off before this time; the import runs at once. RFC 3339 with offset.",
    )
    deadline: Timestamp | None = Field(
        default=None,
        description="What has not been handed off by then ends as expired. RFC 3339 with offset.",
    )
    quiet_hours: QuietHours | None = Field(
        default=None, description="Hours of the recipient's own day in which nothing is sent."
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = SCHEDULE_RULES

"""The rules of a campaign that look at more than one field, one function each, and their table.

Flows in: a sound object of the scope. Flows out: the paths at which the rule is broken. Source: the table of CEL
rules that the CRD carries too. Those of recipients and messages are in `recipients_rules` and `message_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.channels import ADDRESS_COLUMNS
from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.campaign import CampaignSpec
    from sendonce_store.spec.metadata import Metadata
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.rollout import Retry
    from sendonce_store.spec.schedule import QuietHours, Schedule

NAME_LENGTH = 52


# --- root ------------------------------------------------------------------------------------------------------------
def name_is_short(metadata: Metadata) -> Iterator[Path]:
    """A Deployment and its Pods are named after the campaign, with a prefix and a hash."""
    if len(metadata.name) > NAME_LENGTH or "." in metadata.name:
        yield ("name",)


CAMPAIGN_NAME_RULES: tuple[Rule[Metadata], ...] = (
    Rule(
        name="name-is-short",
        scope="",
        field="metadata.name",
        message=f"must have at most {NAME_LENGTH} characters and no dot; choose a shorter name",
        cel=f"self.metadata.name.size() <= {NAME_LENGTH} && !self.metadata.name.contains('.')",
        breaches=name_is_short,
    ),
)


# --- schedule, retry -------------------------------------------------------------------------------------------------
def start_is_before_deadline(schedule: Schedule) -> Iterator[Path]:
    """A deadline before the start leaves no time to send."""
    if schedule.start_at is not None and schedule.deadline is not None and schedule.start_at >= schedule.deadline:
        yield ("deadline",)


def quiet_hours_have_a_length(quiet: QuietHours) -> Iterator[Path]:
    """From and to alike could mean never or always."""
    if quiet.from_ == quiet.to:
        yield ("to",)


def default_zone_is_given_where_used(quiet: QuietHours) -> Iterator[Path]:
    """UseDefault needs something to use."""
    if quiet.unknown_timezone_policy == "UseDefault" and quiet.default_timezone is None:
        yield ("defaultTimezone",)


def first_delay_is_within_the_longest(retry: Retry) -> Iterator[Path]:
    """The first delay is already subject to the greatest."""
    if retry.initial_delay_seconds > retry.max_delay_seconds:
        yield ("initialDelaySeconds",)


SCHEDULE_RULES: tuple[Rule[Schedule], ...] = (
    Rule(
        name="start-before-deadline",
        scope="spec.schedule",
        field="deadline",
        message="must be later than startAt",
        cel="!has(self.startAt) || !has(self.deadline) || self.startAt < self.deadline",
        breaches=start_is_before_deadline,
    ),
)
QUIET_HOURS_RULES: tuple[Rule[QuietHours], ...] = (
    Rule(
        name="quiet-hours-have-a-length",
        scope="spec.schedule.quietHours",
        field="to",
        message="must differ from `from`; to send at any hour leave quietHours out",
        cel="self.from != self.to",
        breaches=quiet_hours_have_a_length,
    ),
    Rule(
        name="use-default-needs-a-zone",
        scope="spec.schedule.quietHours",
        field="defaultTimezone",
        message="is required with unknownTimezonePolicy UseDefault: set an IANA name such as Asia/Tokyo",
        cel="self.unknownTimezonePolicy != 'UseDefault' || has(self.defaultTimezone)",
        breaches=default_zone_is_given_where_used,
    ),
)
RETRY_RULES: tuple[Rule[Retry], ...] = (
    Rule(
        name="first-delay-within-the-longest",
        scope="spec.retry",
        field="initialDelaySeconds",
        message="must not be greater than maxDelaySeconds",
        cel="self.initialDelaySeconds <= self.maxDelaySeconds",
        breaches=first_delay_is_within_the_longest,
    ),
)


# --- spec ------------------------------------------------------------------------------------------------------------
def transactional_has_no_quiet_hours(spec: CampaignSpec) -> Iterator[Path]:
    """A password reset does not wait for the morning."""
    if spec.category == "Transactional" and spec.schedule is not None and spec.schedule.quiet_hours is not None:
        yield ("schedule", "quietHours")


def transactional_has_no_cap(spec: CampaignSpec) -> Iterator[Path]:
    """A password reset is sent however many there were."""
    if spec.category == "Transactional" and spec.frequency_cap is not None:
        yield ("frequencyCap",)


def inline_recipients_have_an_address(spec: CampaignSpec) -> Iterator[Path]:
    """Each inline recipient can be reached on some channel of the campaign."""
    columns = {ADDRESS_COLUMNS[message.channel] for message in spec.messages}
    for no, recipient in enumerate(spec.recipients.inline or ()):
        if not any(getattr(recipient, column) for column in columns):
            yield ("recipients", "inline", no)


def close_is_for_a_stream(spec: CampaignSpec) -> Iterator[Path]:
    """Only a stream is open."""
    if spec.close and spec.recipients.stream is None:
        yield ("close",)


def a_stream_has_no_canary(spec: CampaignSpec) -> Iterator[Path]:
    """A canary is a share of all recipients, who must be known for that."""
    if spec.recipients.stream is not None and spec.rollout is not None and spec.rollout.canary is not None:
        yield ("rollout",)


_ADDRESSED = " || ".join(
    f"'{channel}' in channels && has(one.{column}) && one.{column} != ''" for channel, column in ADDRESS_COLUMNS.items()
)

SPEC_RULES: tuple[Rule[CampaignSpec], ...] = (
    Rule(
        name="transactional-has-no-quiet-hours",
        scope="spec",
        field="schedule.quietHours",
        message="is not allowed for the category Transactional; remove it, or use Marketing",
        cel="!has(self.schedule) || !has(self.schedule.quietHours) || self.category != 'Transactional'",
        breaches=transactional_has_no_quiet_hours,
    ),
    Rule(
        name="transactional-has-no-cap",
        scope="spec",
        field="frequencyCap",
        message="is not allowed for the category Transactional; remove it, or use Marketing",
        cel="!has(self.frequencyCap) || self.category != 'Transactional'",
        breaches=transactional_has_no_cap,
    ),
    Rule(
        name="inline-recipients-have-an-address",
        scope="spec",
        field="recipients.inline[*]",
        message="has no address for any channel of the campaign; add one, such as email for the channel Email",
        cel="!has(self.recipients.inline) || [self.messages.map(message, message.channel)].all(channels, "
        f"self.recipients.inline.all(one, {_ADDRESSED}))",
        breaches=inline_recipients_have_an_address,
    ),
    Rule(
        name="close-is-for-a-stream",
        scope="spec",
        field="close",
        message="is for recipients.stream; a list ends by itself, so leave it out",
        cel="!self.close || has(self.recipients.stream)",
        breaches=close_is_for_a_stream,
    ),
    Rule(
        name="a-stream-has-no-canary",
        scope="spec",
        field="rollout",
        message="is not for recipients.stream, which has no first part of a list; leave it out",
        cel="!has(self.rollout) || !has(self.rollout.canary) || !has(self.recipients.stream)",
        breaches=a_stream_has_no_canary,
    ),
)

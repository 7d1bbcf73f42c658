"""The rules of a campaign that look at more than one field, one function each, and their table.

Flows in: a sound object of the scope. Flows out: the paths at which the rule is broken. Source: the table of CEL
rules that the CRD carries too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.channels import ADDRESS_COLUMNS, Channel
from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.campaign import CampaignSpec
    from sendonce_store.spec.messages import Message
    from sendonce_store.spec.metadata import Metadata
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.recipients import ExpectedCount, HttpSource, Recipients
    from sendonce_store.spec.rollout import Retry
    from sendonce_store.spec.schedule import QuietHours, Schedule

NAME_LENGTH = 52


# --- root ------------------------------------------------------------------------------------------------------------
def name_is_short(metadata: Metadata) -> Iterator[Path]:
    """A Deployment and its Pods are named after the campaign, with a prefix and a hash."""
    if len(metadata.name) > NAME_LENGTH or "." in metadata.name:
        yield ("name",)


CAMPAIGN_NAME_RULES: tuple[Rule[Metadata], ...] = (
    Rule("name-is-short", "", "must have at most 52 characters and no dot; choose a shorter name", name_is_short),
)


# --- recipients ------------------------------------------------------------------------------------------------------
def one_source(recipients: Recipients) -> Iterator[Path]:
    """Recipients come from exactly one place."""
    given = recipients.sources()
    if not given:
        yield ()
    yield from ((source,) for source in given[1:])


def files_have_a_format(recipients: Recipients) -> Iterator[Path]:
    """The format of a file is never guessed."""
    if recipients.format is None and {"configMapKeyRef", "secretKeyRef", "http"} & set(recipients.sources()):
        yield ("format",)


def inline_ids_are_unique(recipients: Recipients) -> Iterator[Path]:
    """An id names one recipient."""
    seen: set[str] = set()
    for no, recipient in enumerate(recipients.inline or ()):
        if recipient.id in seen:
            yield ("inline", no, "id")
        if recipient.id is not None:
            seen.add(recipient.id)


def count_range_is_a_range(expected: ExpectedCount) -> Iterator[Path]:
    """The least expected count is not above the greatest."""
    if expected.min is not None and expected.max is not None and expected.min > expected.max:
        yield ("min",)


def one_address_of_the_file(source: HttpSource) -> Iterator[Path]:
    """A file has one URL, written down or in a Secret."""
    if source.url is None and source.url_secret_key_ref is None:
        yield ()
    if source.url is not None and source.url_secret_key_ref is not None:
        yield ("url",)


RECIPIENTS_RULES: tuple[Rule[Recipients], ...] = (
    Rule(
        "one-source",
        "spec.recipients",
        "exactly one source is needed: keep one of inline, configMapKeyRef, secretKeyRef, http, postgres",
        one_source,
    ),
    Rule(
        "files-have-a-format",
        "spec.recipients",
        "is required for a file, because it is never guessed: set CSV or NDJSON",
        files_have_a_format,
    ),
    Rule(
        "inline-ids-are-unique",
        "spec.recipients",
        "is used by an earlier recipient; give each its own id",
        inline_ids_are_unique,
    ),
)
EXPECTED_RULES: tuple[Rule[ExpectedCount], ...] = (
    Rule(
        "count-range", "spec.recipients.expected", "must not be greater than max; swap or widen", count_range_is_a_range
    ),
)
HTTP_SOURCE_RULES: tuple[Rule[HttpSource], ...] = (
    Rule(
        "one-url",
        "spec.recipients.http",
        "exactly one of url and urlSecretKeyRef is needed; a presigned URL belongs in a Secret",
        one_address_of_the_file,
    ),
)


# --- messages --------------------------------------------------------------------------------------------------------
def one_message_per_channel(messages: tuple[Message, ...]) -> Iterator[Path]:
    """A channel carries one message of a campaign."""
    seen: set[Channel] = set()
    for no, message in enumerate(messages):
        if message.channel in seen:
            yield (no, "channel")
        seen.add(message.channel)


def fallback_follows_a_first_message(messages: tuple[Message, ...]) -> Iterator[Path]:
    """A fallback is one level deep, so it can't go in a circle."""
    first = {message.channel for message in messages if message.after is None}
    for no, message in enumerate(messages):
        if message.after is not None and message.after.channel not in first - {message.channel}:
            yield (no, "after", "channel")


def html_only_in_email(message: Message) -> Iterator[Path]:
    """Other channels carry text."""
    if message.template.html is not None and message.channel is not Channel.EMAIL:
        yield ("template", "html")


def email_has_a_subject(message: Message) -> Iterator[Path]:
    """An email without a subject is a mistake."""
    template = message.template
    if message.channel is Channel.EMAIL and template.subject is None and template.config_map_ref is None:
        yield ("template", "subject")


def email_has_a_body(message: Message) -> Iterator[Path]:
    """An email without a body is a mistake."""
    template = message.template
    if message.channel is Channel.EMAIL and (template.text, template.html, template.config_map_ref) == (None,) * 3:
        yield ("template", "text")


MESSAGES_RULES: tuple[Rule[tuple[Message, ...]], ...] = (
    Rule(
        "one-message-per-channel",
        "spec.messages",
        "has a message already; a campaign has one message per channel",
        one_message_per_channel,
    ),
    Rule(
        "fallback-follows-a-first-message",
        "spec.messages",
        "must be another channel of this campaign whose message has no `after` itself",
        fallback_follows_a_first_message,
    ),
)
MESSAGE_RULES: tuple[Rule[Message], ...] = (
    Rule("html-only-in-email", "spec.messages[*]", "is for the channel Email only; use text", html_only_in_email),
    Rule(
        "email-has-a-subject",
        "spec.messages[*]",
        "is required for the channel Email: set it, or configMapRef with the key subject",
        email_has_a_subject,
    ),
    Rule(
        "email-has-a-body",
        "spec.messages[*]",
        "an email needs a body: set text, html or configMapRef",
        email_has_a_body,
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
    Rule("start-before-deadline", "spec.schedule", "must be later than startAt", start_is_before_deadline),
)
QUIET_HOURS_RULES: tuple[Rule[QuietHours], ...] = (
    Rule(
        "quiet-hours-have-a-length",
        "spec.schedule.quietHours",
        "must differ from `from`; to send at any hour leave quietHours out",
        quiet_hours_have_a_length,
    ),
    Rule(
        "use-default-needs-a-zone",
        "spec.schedule.quietHours",
        "is required with unknownTimezonePolicy UseDefault: set an IANA name such as Asia/Tokyo",
        default_zone_is_given_where_used,
    ),
)
RETRY_RULES: tuple[Rule[Retry], ...] = (
    Rule(
        "first-delay-within-the-longest",
        "spec.retry",
        "must not be greater than maxDelaySeconds",
        first_delay_is_within_the_longest,
    ),
)


# --- spec ------------------------------------------------------------------------------------------------------------
def transactional_has_no_quiet_hours(spec: CampaignSpec) -> Iterator[Path]:
    """A password reset does not wait for the morning."""
    if spec.category == "Transactional" and spec.schedule is not None and spec.schedule.quiet_hours is not None:
        yield ("schedule", "quietHours")


def inline_recipients_have_an_address(spec: CampaignSpec) -> Iterator[Path]:
    """Each inline recipient can be reached on some channel of the campaign."""
    columns = {ADDRESS_COLUMNS[message.channel] for message in spec.messages}
    for no, recipient in enumerate(spec.recipients.inline or ()):
        if not any(getattr(recipient, column) for column in columns):
            yield ("recipients", "inline", no)


SPEC_RULES: tuple[Rule[CampaignSpec], ...] = (
    Rule(
        "transactional-has-no-quiet-hours",
        "spec",
        "is not allowed for the category Transactional; remove it, or use Marketing",
        transactional_has_no_quiet_hours,
    ),
    Rule(
        "inline-recipients-have-an-address",
        "spec",
        "has no address for any channel of the campaign; add one, such as email for the channel Email",
        inline_recipients_have_an_address,
    ),
)

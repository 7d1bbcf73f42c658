"""The rules of `spec.messages` that look at more than one field, and their tables; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.channels import Channel
from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.messages import Message
    from sendonce_store.spec.problems import Path


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
        name="one-message-per-channel",
        scope="spec.messages",
        field="[*].channel",
        message="has a message already; a campaign has one message per channel",
        cel="self.all(one, self.exists_one(other, other.channel == one.channel))",
        breaches=one_message_per_channel,
    ),
    Rule(
        name="fallback-follows-a-first-message",
        scope="spec.messages",
        field="[*].after.channel",
        message="must be another channel of this campaign whose message has no `after` itself",
        cel="self.all(one, !has(one.after) || one.after.channel != one.channel && "
        "self.exists(first, first.channel == one.after.channel && !has(first.after)))",
        breaches=fallback_follows_a_first_message,
    ),
)
MESSAGE_RULES: tuple[Rule[Message], ...] = (
    Rule(
        name="html-only-in-email",
        scope="spec.messages[*]",
        field="template.html",
        message="is for the channel Email only; use text",
        cel="!has(self.template.html) || self.channel == 'Email'",
        breaches=html_only_in_email,
    ),
    Rule(
        name="email-has-a-subject",
        scope="spec.messages[*]",
        field="template.subject",
        message="is required for the channel Email: set it, or configMapRef with the key subject",
        cel="self.channel != 'Email' || has(self.template.subject) || has(self.template.configMapRef)",
        breaches=email_has_a_subject,
    ),
    Rule(
        name="email-has-a-body",
        scope="spec.messages[*]",
        field="template.text",
        message="is required for the channel Email: set it, or html or configMapRef",
        cel="self.channel != 'Email' || has(self.template.text) || has(self.template.html) || "
        "has(self.template.configMapRef)",
        breaches=email_has_a_body,
    ),
)

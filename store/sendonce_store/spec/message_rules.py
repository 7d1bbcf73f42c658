"""The rules of `spec.messages` that look at more than one field, and their tables; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.channels import Channel
from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.messages import Message, TemplateVariant
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


def mjml_only_in_email(message: Message) -> Iterator[Path]:
    """It becomes HTML."""
    if message.template.mjml is not None and message.channel is not Channel.EMAIL:
        yield ("template", "mjml")


def attachments_only_in_email(message: Message) -> Iterator[Path]:
    """Other channels have no place for files."""
    if message.template.attachments and message.channel is not Channel.EMAIL:
        yield ("template", "attachments")


def variants_are_text_but_in_email(message: Message) -> Iterator[Path]:
    """Other channels carry text in any language."""
    if message.channel is Channel.EMAIL:
        return
    for no, variant in enumerate(message.template.variants):
        rich = {"html": variant.html, "mjml": variant.mjml}
        yield from (("template", "variants", no, name) for name, value in rich.items() if value is not None)


def html_or_mjml(message: Message) -> Iterator[Path]:
    """MJML becomes the HTML."""
    if message.template.html is not None and message.template.mjml is not None:
        yield ("template", "mjml")


def variant_has_html_or_mjml(variant: TemplateVariant) -> Iterator[Path]:
    """MJML becomes the HTML."""
    if variant.html is not None and variant.mjml is not None:
        yield ("mjml",)


def variants_differ_in_locale(message: Message) -> Iterator[Path]:
    """One language has one text; language tags do not differ by case (RFC 5646 §2.1.1)."""
    seen: set[str] = set()
    for no, variant in enumerate(message.template.variants):
        if variant.locale.lower() in seen:
            yield ("template", "variants", no, "locale")
        seen.add(variant.locale.lower())


def email_has_a_subject(message: Message) -> Iterator[Path]:
    """An email without a subject is a mistake."""
    template = message.template
    if message.channel is Channel.EMAIL and template.subject is None and template.config_map_ref is None:
        yield ("template", "subject")


def email_has_a_body(message: Message) -> Iterator[Path]:
    """An email without a body is a mistake."""
    template = message.template
    if (
        message.channel is Channel.EMAIL
        and (
            template.text,
            template.html,
            template.mjml,
            template.config_map_ref,
        )
        == (None,) * 4
    ):
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
        cel="self.channel == 'Email' || !has(self.template.html)",
        breaches=html_only_in_email,
    ),
    Rule(
        name="mjml-only-in-email",
        scope="spec.messages[*]",
        field="template.mjml",
        message="is for the channel Email only; use text",
        cel="self.channel == 'Email' || !has(self.template.mjml)",
        breaches=mjml_only_in_email,
    ),
    Rule(
        name="attachments-only-in-email",
        scope="spec.messages[*]",
        field="template.attachments",
        message="are for the channel Email only; link to the files",
        cel="self.channel == 'Email' || !has(self.template.attachments) || self.template.attachments.size() == 0",
        breaches=attachments_only_in_email,
    ),
    Rule(
        name="variants-are-text-but-in-email",
        scope="spec.messages[*]",
        field="template.variants",
        message="have html or mjml for the channel Email only; use text",
        cel="self.channel == 'Email' || !has(self.template.variants) || self.template.variants.all(one, "
        "!has(one.html) && !has(one.mjml))",
        breaches=variants_are_text_but_in_email,
    ),
    Rule(
        name="html-or-mjml",
        scope="spec.messages[*]",
        field="template.mjml",
        message="becomes the html: keep one of html and mjml",
        cel="!has(self.template.mjml) || !has(self.template.html)",
        breaches=html_or_mjml,
    ),
    Rule(
        name="variants-differ-in-locale",
        scope="spec.messages[*]",
        field="template.variants",
        message="has this language already, in other letters; keep one",
        cel="!has(self.template.variants) || [self.template.variants.map(one, one.locale.lowerAscii())].all(locales, "
        "locales.all(one, locales.exists_one(other, other == one)))",
        breaches=variants_differ_in_locale,
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
        message="is required for the channel Email: set it, or html, mjml or configMapRef",
        cel="self.channel != 'Email' || has(self.template.text) || has(self.template.html) || "
        "has(self.template.mjml) || has(self.template.configMapRef)",
        breaches=email_has_a_body,
    ),
)
VARIANT_RULES: tuple[Rule[TemplateVariant], ...] = (
    Rule(
        name="variant-has-html-or-mjml",
        scope="spec.messages[*].template.variants[*]",
        field="mjml",
        message="becomes the html: keep one of html and mjml",
        cel="!has(self.mjml) || !has(self.html)",
        breaches=variant_has_html_or_mjml,
    ),
)

"""What a message says to one recipient, as the worker renders it: for a preview, and to show again what went out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sendonce_rendering import (
    AttachedFile,
    CompiledMessage,
    Content,
    RenderError,
    TemplateError,
    compile_message,
)
from sendonce_store.links import Links
from sendonce_store.people import Delivery, Person
from sendonce_store.recipients import Recipient
from sendonce_store.rows import Row
from sendonce_store.spec import CampaignSpec, Message
from sendonce_worker.attaching import described
from sendonce_worker.sending.linking import Linking
from sendonce_worker.sending.prepare import template_variables

__all__ = ["Shown", "Verdict", "parts_of", "rendered", "shown_again", "variables_of"]


class Verdict(Enum):
    """Whether the content that is shown is the one that went out."""

    VERIFIED = "content verified"
    DIFFERENT = "content differs"
    NOTHING_SENT = "nothing went out"
    UNRENDERABLE = "cannot be rendered"


@dataclass(frozen=True, slots=True)
class Shown:
    """A content with its verdict, in a word and in a sentence. Without a content: why there is none."""

    verdict: Verdict
    explanation: str
    content: Content | None = None


def variables_of(recipient: Recipient) -> dict[str, object]:
    """The names that a template may use for a recipient who has just been read."""
    return template_variables(_row(_person(recipient)))


def rendered(template: CompiledMessage, recipient: Recipient, links: Linking | None = None) -> Content:
    """The message to a recipient who has just been read. Raises RenderError."""
    return _rendered(template, _person(recipient), links)


def _rendered(template: CompiledMessage, person: Person, links: Linking | None) -> Content:
    """As the worker does it, by its own functions."""
    row = _row(person)
    content = template.render(template_variables(row, links))
    return content if links is None else links.headed(content, row)


def _person(recipient: Recipient) -> Person:
    addresses = {channel: [one.original, one.normalised] for channel, one in recipient.addresses.items()}
    return Person(recipient.line, recipient.ref, addresses, recipient.timezone, recipient.locale, recipient.variables)


def _row(person: Person) -> Row:
    return Row(
        no=0,
        attempt_seq=0,
        tries=0,
        maybe_accepted=False,
        key="",
        digest=None,
        recipient_no=person.no,
        address="",
        ref=person.ref,
        timezone=person.timezone,
        locale=person.locale,
        variables=dict(person.variables),
        addresses={channel: list(pair) for channel, pair in person.addresses.items()},
    )


def shown_again(spec: CampaignSpec, person: Person, delivery: Delivery, links: Links | None = None) -> Shown:
    """Render the frozen template with the kept variables, and hold it against the digest of what was handed off."""
    message = next((one for one in spec.messages if one.channel.value == delivery.channel), None)
    if message is None:
        return Shown(Verdict.UNRENDERABLE, f"the campaign has no message for {delivery.channel}")
    try:
        template = _compiled(message)
        linking = Linking(links, spec, delivery.channel, template) if links else None
        content = _rendered(template, person, linking)
    except (TemplateError, RenderError) as error:
        return Shown(Verdict.UNRENDERABLE, str(error))
    if delivery.digest is None:
        return Shown(Verdict.NOTHING_SENT, "this is what would be sent", content)
    if content.digest() == delivery.digest:
        return Shown(Verdict.VERIFIED, "this is what was handed off: its digest is the one noted then", content)
    words = "this is NOT what was handed off: its digest is another one than the one noted then"
    return Shown(Verdict.DIFFERENT, words, content)


def _named(file: AttachedFile) -> str:
    inline = f", shown at cid:{file.content_id}" if file.content_id else ""
    return f"{file.name} ({file.media_type}{inline}, sha256 {file.sha256[:12]}…)"


def _compiled(message: Message) -> CompiledMessage:
    files = described(message.template.attachments)
    return compile_message(message.template, message.channel.value, attachments=files)


def parts_of(content: Content) -> Mapping[str, str]:
    """The parts of a content by the names that templates give them, in reading order."""
    named = {
        "from": content.sender,
        "replyTo": content.reply_to,
        **dict(content.headers),
        "subject": content.subject,
        "text": content.text,
        "html": content.html,
        "attachments": ", ".join(map(_named, content.attachments)) or None,
    }
    return {name: value for name, value in named.items() if value is not None}

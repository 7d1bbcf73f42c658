"""What went out, shown again: a content that was rendered once more in, the content with a verdict out.

A content is not kept. It is rendered once more, and held against the digest that was noted before the hand-off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from sendonce_rendering.attached import AttachedFile, Attachment, described
from sendonce_rendering.content import Content
from sendonce_rendering.message import CompiledMessage, compile_message

__all__ = ["Message", "Shown", "Template", "Verdict", "compiled", "held_against", "parts_of"]


class Template(Protocol):
    """A template as `compile_message` takes it, with its files."""

    @property
    def attachments(self) -> Iterable[Attachment]:
        """Its files."""


class Message(Protocol):
    """A message of a campaign."""

    @property
    def channel(self) -> str:
        """Such as Email."""

    @property
    def template(self) -> Template:
        """What it says."""


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


def held_against(content: Content, digest: bytes | None) -> Shown:
    """A content that was rendered once more, with the digest of what was handed off (None: nothing was)."""
    if digest is None:
        return Shown(Verdict.NOTHING_SENT, "this is what would be sent", content)
    if content.digest() == digest:
        return Shown(Verdict.VERIFIED, "this is what was handed off: its digest is the one noted then", content)
    words = "this is NOT what was handed off: its digest is another one than the one noted then"
    return Shown(Verdict.DIFFERENT, words, content)


def compiled(message: Message) -> CompiledMessage:
    """Compile a message whose files are only named. Raises TemplateError."""
    return compile_message(message.template, str(message.channel), attachments=described(message.template.attachments))


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


def _named(file: AttachedFile) -> str:
    inline = f", shown at cid:{file.content_id}" if file.content_id else ""
    return f"{file.name} ({file.media_type}{inline}, sha256 {file.sha256[:12]}…)"

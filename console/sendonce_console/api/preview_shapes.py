"""The records of a preview as programs get them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sendonce_console.api.people_shapes import called
from sendonce_console.views.previewing import Previewed
from sendonce_rendering.sms import Segments
from sendonce_worker.previewing.survey import Rendered


@dataclass(frozen=True, slots=True)
class PreviewProblem:
    """A mistake in the file, at a line of it."""

    line: int | None
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class PreviewMessage:
    """One message to one recipient: its parts, or why it can't be rendered; `segments` of a text message."""

    recipient: str
    line: int
    channel: str
    address: str
    parts: Mapping[str, str] | None
    problem: str | None
    segments: Segments | None


@dataclass(frozen=True, slots=True)
class PreviewRecord:
    """What a campaign file would send. With problems there is nothing else."""

    name: str
    problems: Sequence[PreviewProblem]
    messages: Sequence[PreviewMessage]
    recipients: int
    rejected: int
    notes: Sequence[str]
    warnings: Sequence[str]
    missing: Sequence[str]


def preview_of(found: Previewed) -> PreviewRecord:
    """A preview."""
    return PreviewRecord(
        name=found.name,
        problems=[PreviewProblem(one.line, one.field, one.message) for one in found.mistakes],
        messages=[_message(one) for one in found.messages],
        recipients=found.rows,
        rejected=found.rejected,
        notes=found.notes,
        warnings=found.warnings,
        missing=found.missing,
    )


def _message(one: Rendered) -> PreviewMessage:
    who = called(one.ref, one.line)
    return PreviewMessage(who, one.line, one.channel, one.address, one.parts, one.problem, one.sms)

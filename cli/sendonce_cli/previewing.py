"""A preview: the rows of a source in; rendered messages of some recipients, and what is odd about all of them, out.

The whole source is read once, in constant memory: random recipients are a reservoir sample.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.addressing import normalised
from sendonce_cli.checking import Checked
from sendonce_cli.contents import parts_of, variables_of
from sendonce_cli.first_look import recipient_blocks, told
from sendonce_cli.materials import Materials
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec.channels import RESERVED_COLUMNS
from sendonce_worker.rendering import RenderError

__all__ = ["Choice", "Preview", "preview", "preview_data", "preview_shown"]

_KEPT_REJECTS = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is shown: those named, and so many at random."""

    wanted: Sequence[str]
    count: int
    seed: int | None


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message to one recipient: its parts, or why it can't be rendered."""

    line: int
    ref: str | None
    channel: str
    address: str
    parts: Mapping[str, str] | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What the preview found. `warnings` concern all rows; `errors` those that are shown."""

    name: str
    rows: int
    rejected: int
    messages: Sequence[Rendered]
    warnings: Sequence[str]
    missing: Sequence[str]

    @property
    def errors(self) -> list[str]:
        """What can't be rendered, with the recipient's line."""
        return [f"line {one.line}, {one.channel}: {one.problem}" for one in self.messages if one.problem]


@dataclass(slots=True)
class Survey:
    """What is counted over all rows, and who was picked."""

    choice: Choice
    used: Mapping[str, frozenset[str]]  # channel → variables that its template looks up
    wanted: Mapping[str, set[str]]  # as it was asked for → every way to write it
    picked: list[Recipient] = field(default_factory=list)
    sample: list[Recipient] = field(default_factory=list)
    rows: int = 0
    rejected: int = 0
    rejects: list[Rejected] = field(default_factory=list)
    unreachable: int = 0
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    known: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)

    def take(self, recipient: Recipient, rng: random.Random) -> None:
        """Count one recipient, and perhaps keep it."""
        self.rows += 1
        self.unreachable += not recipient.addresses
        variables = variables_of(recipient).keys()
        self.known |= recipient.variables.keys()
        for channel, names in self.used.items():
            if channel in recipient.addresses:
                self.absent.update((channel, name) for name in names - variables)
        own = _names(recipient)
        if called := {who for who, written in self.wanted.items() if written & own}:
            self.found |= called
            self.picked.append(recipient)
        self._sample(recipient, rng)

    def _sample(self, recipient: Recipient, rng: random.Random) -> None:
        """Algorithm R (Vitter 1985): each row so far is in the sample with the same chance."""
        if len(self.sample) < self.choice.count:
            self.sample.append(recipient)
        elif self.choice.count and (place := rng.randrange(self.rows)) < self.choice.count:
            self.sample[place] = recipient

    def refuse(self, rejected: Sequence[Rejected]) -> None:
        """Count refused rows, and keep the first few."""
        self.rejected += len(rejected)
        self.rejects += rejected[: _KEPT_REJECTS - len(self.rejects)]


async def preview(checked: Checked, materials: Materials, choice: Choice) -> Preview:
    """Read the source and render. Raises ImportSourceError."""
    rng = random.Random(choice.seed)  # noqa: S311 - a sample, not a secret
    used = {channel: one.variables_used() for channel, one in checked.templates.items()}
    survey = Survey(choice, used, {who: {who, *normalised(who, used).values()} for who in choice.wanted})
    async with aclosing(recipient_blocks(checked.spec, materials)) as blocks:
        async for block in blocks:
            survey.refuse(block.rejected)
            for recipient in block.recipients:
                survey.take(recipient, rng)
    shown = [*survey.picked, *sorted(survey.sample, key=lambda one: one.line)]
    return Preview(
        name=checked.source.campaign.metadata.name,
        rows=survey.rows,
        rejected=survey.rejected,
        messages=[message for recipient in shown for message in render(checked, recipient)],
        warnings=warnings(survey),
        missing=[who for who in choice.wanted if who not in survey.found],
    )


def _names(recipient: Recipient) -> set[str]:
    """What a recipient can be called by."""
    named = {f"line:{recipient.line}", recipient.ref or f"line:{recipient.line}"}
    return named | {text for one in recipient.addresses.values() for text in (one.original, one.normalised)}


def render(checked: Checked, recipient: Recipient) -> list[Rendered]:
    """Every message that the recipient has an address for."""
    rendered = []
    for channel, template in checked.templates.items():
        address = recipient.addresses.get(channel)
        if address is None:
            continue
        parts, problem = None, None
        try:
            parts = parts_of(template.render(variables_of(recipient)))
        except RenderError as error:
            problem = str(error)
        rendered.append(Rendered(recipient.line, recipient.ref, channel, address.original, parts, problem))
    return rendered


def warnings(survey: Survey) -> list[str]:
    """What is odd about the rows as a whole."""
    found = []
    if survey.rows == 0:
        found.append("the source has no recipient: nothing would be sent")
    if survey.rejected:
        found.append(f"{survey.rejected:,} of the source's rows refused: {told(survey.rejects)}")
    if survey.unreachable:
        found.append(f"{survey.unreachable:,} of {survey.rows:,} recipients have no address for any channel")
    for (channel, name), count in sorted(survey.absent.items()):
        found.append(f"{channel}: variable {name} is missing for {count:,} of {survey.rows:,} recipients")
    if unused := sorted(survey.known.difference(RESERVED_COLUMNS, *survey.used.values())):
        found.append(f"no template uses {', '.join(unused)}")
    return found


def preview_data(found: Preview) -> dict[str, Any]:
    """For scripts."""
    return {
        "name": found.name,
        "recipients": found.rows,
        "rejected": found.rejected,
        "warnings": list(found.warnings),
        "messages": list(found.messages),
    }


def preview_shown(found: Preview) -> RenderableType:
    """For people."""
    lines: list[RenderableType] = []
    for one in found.messages:
        called = f" ({one.ref})" if one.ref else ""
        lines.append(Text(f"── line {one.line}{called} · {one.channel} to {one.address}", style="bold"))
        lines += [_part(name, value) for name, value in (one.parts or {}).items()]
        if one.problem:
            lines.append(Text(f"can't be rendered: {one.problem}", style="red"))
        lines.append(Text(""))
    lines += [Text(f"warning: {words}", style="yellow") for words in found.warnings]
    lines.append(Text(f"{found.name}: {found.rows:,} recipients, {found.rejected:,} rows refused. Nothing was sent."))
    return Group(*lines)


def _part(name: str, value: str) -> Text:
    if name in {"text", "html"}:
        return Text.assemble((f"{name}:\n", "dim"), "\n".join(f"  {line}" for line in value.splitlines()))
    return Text.assemble((f"{name}: ", "dim"), value)

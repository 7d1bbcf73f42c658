"""A preview of a campaign's files: the whole source is read once, and told for people or as data."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.checking import Checked, spec_of
from sendonce_cli.first_look import recipient_blocks
from sendonce_cli.materials import Materials
from sendonce_rendering import Content
from sendonce_worker.previewing.advice import mail_advice, segments_told
from sendonce_worker.previewing.survey import Choice, Preview, begin, languages, rendered, warnings

__all__ = ["Choice", "Preview", "preview", "preview_data", "preview_shown"]


OPEN = "the recipients come from applications (recipients.stream): nobody is known before"


async def preview(checked: Checked, materials: Materials, choice: Choice) -> Preview:
    """Read the source and render. Raises ImportSourceError."""
    rng = random.Random(choice.seed)  # noqa: S311 - a sample, not a secret
    survey = begin(checked.templates, choice, checked.links)
    async with aclosing(recipient_blocks(checked.spec, materials)) as blocks:
        async for block in blocks:
            survey.refuse(block.rejected)
            for recipient in block.recipients:
                survey.take(recipient, rng)
    shown = [*survey.picked, *sorted(survey.sample, key=lambda one: one.line)]
    messages, contents = rendered(checked.templates, shown, checked.links)
    return Preview(
        name=checked.source.campaign.metadata.name,
        rows=survey.rows,
        rejected=survey.rejected,
        messages=messages,
        notes=[*languages(survey), *survey.costs.told()],
        warnings=[OPEN]
        if checked.spec.recipients.stream is not None
        else [*warnings(survey), *survey.costs.warned(), *_advice(checked, contents)],
        missing=[who for who in choice.wanted if who not in survey.found],
    )


def _advice(checked: Checked, contents: Mapping[str, list[Content]]) -> list[str]:
    advice: list[str] = []
    for message in checked.spec.messages:
        channel = message.channel.value
        document = checked.providers.get(channel)
        provider = spec_of(document) if document else None
        advice += mail_advice(checked.spec, message, provider, contents[channel], linked=channel in checked.links)
    return advice


def preview_data(found: Preview) -> dict[str, Any]:
    """For scripts."""
    return {
        "name": found.name,
        "recipients": found.rows,
        "rejected": found.rejected,
        "notes": list(found.notes),
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
        if one.sms is not None and one.parts:
            lines.append(Text(segments_told(one.parts.get("text", "")), style="dim"))
        if one.problem:
            lines.append(Text(f"can't be rendered: {one.problem}", style="red"))
        lines.append(Text(""))
    lines += [Text(words) for words in found.notes]
    lines += [Text(f"warning: {words}", style="yellow") for words in found.warnings]
    lines.append(Text(f"{found.name}: {found.rows:,} recipients, {found.rejected:,} rows refused. Nothing was sent."))
    return Group(*lines)


def _part(name: str, value: str) -> Text:
    if name in {"text", "html"}:
        return Text.assemble((f"{name}:\n", "dim"), "\n".join(f"  {line}" for line in value.splitlines()))
    return Text.assemble((f"{name}: ", "dim"), value)

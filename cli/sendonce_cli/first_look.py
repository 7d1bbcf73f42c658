"""A first look at the recipients before anything is written: whether the source opens, whether its rows can be sent to.

One block of at most 5,000 rows is read. A single bad row is no reason to stop; a list in which every row fails, or
every message, means that the campaign itself is wrong.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from sendonce_cli.checking import Checked
from sendonce_cli.materials import Materials
from sendonce_rendering import CompiledMessage, RenderError
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec import CampaignSpec, Path, Problem
from sendonce_store.spec.channels import ADDRESS_COLUMNS
from sendonce_worker.importing import Files, ImportSourceError, asks_a_database, normalise_rows, open_import, read_rows
from sendonce_worker.linking import Linking, rendered
from sendonce_worker.previewing.survey import told

__all__ = ["Rows", "look", "recipient_blocks"]

# so many recipients of the block are rendered
SAMPLE = 50


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a source, in order."""

    recipients: Sequence[Recipient]
    rejected: Sequence[Rejected]


async def recipient_blocks(spec: CampaignSpec, materials: Materials) -> AsyncGenerator[Rows, None]:
    """The whole source, block by block. Raises ImportSourceError."""
    if spec.recipients.stream is not None:
        return  # nobody is known yet
    channels, files = [message.channel.value for message in spec.messages], Files(materials.root)
    if not asks_a_database(spec.recipients):
        async with aclosing(open_import(spec.recipients, channels, files)) as blocks:
            async for block in blocks:
                yield Rows(block.recipients, block.rejected)
        return
    line = 1
    async with aclosing(read_rows(spec.recipients, channels, files)) as pages:
        async for page in pages:
            outcome = normalise_rows(page, line, channels)
            line += len(page)
            yield Rows(outcome.recipients, outcome.rejected)


async def look(checked: Checked, materials: Materials) -> list[Problem]:
    """Open the source, read its first block and judge it."""
    try:
        async with aclosing(recipient_blocks(checked.spec, materials)) as blocks:
            async for block in blocks:
                return list(judge(checked, block))
    except ImportSourceError as error:
        return [checked.problem(tuple(error.field.split(".")), error.problem)]
    return []


def judge(checked: Checked, block: Rows) -> Iterator[Problem]:
    """What is wrong with all of the rows."""
    if not block.recipients:
        if block.rejected:
            yield checked.problem(("spec", "recipients"), f"no row can be used: {told(block.rejected)}")
        return
    columns = " or ".join(column for channel, column in ADDRESS_COLUMNS.items() if channel.value in checked.channels)
    if not any(recipient.addresses for recipient in block.recipients):
        rows = len(block.recipients)
        yield checked.problem(
            ("spec", "recipients"), f"none of the first {rows} recipients has an address: give {columns}"
        )
        return
    for no, message in enumerate(checked.spec.messages):
        channel = message.channel.value
        error = fails_for_all(checked.templates[channel], channel, block.recipients, checked.links.get(channel))
        if error is not None:
            field = (error.field or "").partition(".")[0]
            path: Path = ("spec", "messages", no, "template", *([field] if field else []))
            yield checked.problem(path, f"can be rendered for none of the first recipients: {error}")


def fails_for_all(
    template: CompiledMessage, channel: str, recipients: Sequence[Recipient], links: Linking | None = None
) -> RenderError | None:
    """The first error if the message can be rendered for none of them (those with an address for it); else None."""
    first: RenderError | None = None
    for recipient in [one for one in recipients if channel in one.addresses][:SAMPLE]:
        try:
            rendered(template, recipient, links)
        except RenderError as error:
            first = first or error
        else:
            return None
    return first

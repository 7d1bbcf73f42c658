"""A campaign file before it is applied: its text in; its mistakes by line, or its messages to some people, out.

As `sendonce preview` does it, with two differences. Nothing outside the text is opened: recipients come from the file
itself, or from a list that is pasted beside it. And Secrets are not asked for: what credentials do is no matter here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from sendonce_rendering import CompiledMessage, Content, TemplateError, compile_message
from sendonce_rendering.attached import described
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec import (
    CampaignSpec,
    ConfigMap,
    Document,
    Message,
    NotificationCampaign,
    Problem,
    ProviderSpec,
    SpecError,
    load_documents,
)
from sendonce_store.spec.recipients import Recipients
from sendonce_worker.importing import Files, ImportSourceError, open_import
from sendonce_worker.linking import sample_links
from sendonce_worker.previewing.advice import mail_advice
from sendonce_worker.previewing.materials import Materials, laid_out
from sendonce_worker.previewing.survey import Choice, Rendered, begin, languages, rendered, warnings
from sendonce_worker.previewing.templates import place_of, resolved_template

__all__ = ["Asked", "Mistake", "Previewed", "SourceLine", "preview", "source_lines"]

SHOWN = 3
MOST_SHOWN = 20
# a little gzip can be very many rows
MOST_ROWS = 20_000
_SAMPLE = "sendonce-pasted-list"
_FILE = "the file"


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to see. `people`: a pasted list in `form` (CSV or NDJSON); `who`: whose messages.

    `gateway`: where links in messages lead, if anywhere.
    """

    text: str
    people: str = ""
    form: str = "CSV"
    who: Sequence[str] = ()
    gateway: str | None = None


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake; `line` is the text's, from 1, or None where it is not about a line."""

    line: int | None
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Previewed:
    """What the file holds. With mistakes there is nothing else."""

    name: str = ""
    mistakes: Sequence[Mistake] = ()
    messages: Sequence[Rendered] = ()
    rows: int = 0
    rejected: int = 0
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    missing: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the text with its number, and what is wrong with it."""

    number: int
    text: str
    mistakes: Sequence[str] = field(default=())


def source_lines(text: str, mistakes: Sequence[Mistake], around: int = 3) -> list[list[SourceLine]]:
    """The lines that have mistakes, with those around them, in blocks; at most 40 mistakes are shown so."""
    lines = text.splitlines()
    wrong: dict[int, list[str]] = {}
    for one in [one for one in mistakes if one.line is not None][:40]:
        words = f"{one.field}: {one.message}" if one.field else one.message
        wrong.setdefault(min(one.line or 1, max(len(lines), 1)), []).append(words)
    shown = sorted({no for at in wrong for no in range(at - around, at + around + 1) if 1 <= no <= len(lines)})
    blocks: list[list[SourceLine]] = []
    for no in shown:
        if not blocks or blocks[-1][-1].number != no - 1:
            blocks.append([])
        blocks[-1].append(SourceLine(no, lines[no - 1][:400], wrong.get(no, ())))
    return blocks


async def preview(asked: Asked, namespace: str) -> Previewed:
    """Check and render. Bad input is in `mistakes`."""
    try:
        documents = load_documents(asked.text, _FILE, namespace=namespace)
        document, campaign = _campaign(documents)
        config_maps = _config_maps(documents, campaign.metadata.namespace)
        if asked.people.strip():
            config_maps[_SAMPLE] = {"list": asked.people.encode()}
        with laid_out(config_maps, {}) as materials:
            return await _previewed(asked, documents, document, campaign, materials)
    except SpecError as error:
        return Previewed(mistakes=[_mistake(problem) for problem in error.problems])


def _mistake(problem: Problem) -> Mistake:
    return Mistake(problem.line, problem.field, problem.message)


def _campaign(documents: Sequence[Document]) -> tuple[Document, NotificationCampaign]:
    found = [(one, one.resource) for one in documents if isinstance(one.resource, NotificationCampaign)]
    if len(found) == 1:
        return found[0]
    if found:
        raise SpecError([found[1][0].problem(("metadata", "name"), "is a second campaign; give one at a time")])
    raise SpecError([Problem(_FILE, 1, 1, "", "there is no NotificationCampaign in there; give one")])


def _config_maps(documents: Sequence[Document], namespace: str) -> dict[str, Mapping[str, bytes]]:
    found = [one.resource for one in documents if isinstance(one.resource, ConfigMap)]
    return {one.metadata.name: one.files() for one in found if one.metadata.namespace == namespace}


async def _previewed(
    asked: Asked,
    documents: Sequence[Document],
    document: Document,
    campaign: NotificationCampaign,
    materials: Materials,
) -> Previewed:
    messages, templates, problems = await asyncio.to_thread(_compiled, document, campaign.spec, materials)
    if problems:
        raise SpecError(problems)
    spec = campaign.spec.model_copy(update={"messages": tuple(messages)})
    links = sample_links(spec, templates, asked.gateway)
    survey = begin(templates, Choice(asked.who[:MOST_SHOWN], 0 if asked.who else SHOWN, 1), links)
    rng = random.Random(1)  # noqa: S311 - a sample, not a secret: the same one each time
    source, notes = _source(asked, spec)
    if source is not None:
        recipients, rejected = await _rows(document, source, templates, materials)
        survey.refuse(rejected)
        for recipient in recipients:
            survey.take(recipient, rng)
    shown = [*survey.picked[:MOST_SHOWN], *sorted(survey.sample, key=lambda one: one.line)]
    found, contents = await asyncio.to_thread(rendered, templates, shown, links)
    return Previewed(
        name=campaign.metadata.name,
        messages=found,
        rows=survey.rows,
        rejected=survey.rejected,
        notes=[*notes, *languages(survey), *survey.costs.told()],
        warnings=[
            *(warnings(survey) if source is not None else ()),
            *survey.costs.warned(),
            *_advice(spec, documents, contents, linked=bool(links)),
        ],
        missing=[who for who in asked.who if who not in survey.found],
    )


def _advice(
    spec: CampaignSpec, documents: Sequence[Document], contents: Mapping[str, list[Content]], *, linked: bool
) -> Iterator[str]:
    for message in spec.messages:
        provider = _provider(message, documents)
        yield from mail_advice(spec, message, provider, contents[message.channel.value], linked=linked)


def _compiled(
    document: Document, spec: CampaignSpec, materials: Materials
) -> tuple[list[Message], dict[str, CompiledMessage], list[Problem]]:
    messages: list[Message] = []
    templates: dict[str, CompiledMessage] = {}
    problems: list[Problem] = []
    for no, message in enumerate(spec.messages):
        here = ("spec", "messages", no, "template")
        template, found = resolved_template(message.template, materials)
        # a Secret's files are no matter here: their names and sums are known
        found = [(path, words) for path, words in found if "secretKeyRef" not in path]
        problems += [document.problem((*here, *path), words) for path, words in found]
        messages.append(message.model_copy(update={"template": template}))
        if found:
            continue
        try:
            files = described(template.attachments)
            templates[message.channel.value] = compile_message(template, message.channel.value, attachments=files)
        except TemplateError as error:
            path, words = place_of(message.template, error)
            problems.append(document.problem((*here, *path), words))
    return messages, templates, problems


def _source(asked: Asked, spec: CampaignSpec) -> tuple[Recipients | None, Sequence[str]]:
    """Where the recipients are read from: the pasted list, or the file itself; else why there are none."""
    if asked.people.strip():
        wire = {"configMapKeyRef": {"name": _SAMPLE, "key": "list"}, "format": asked.form}
        return Recipients.from_wire(wire), ["The recipients are those of the pasted list."]
    if spec.recipients.inline is not None or spec.recipients.config_map_key_ref is not None:
        return spec.recipients, ()
    if spec.recipients.stream is not None:
        return None, ["The recipients come from applications, and nobody is known before: paste a few of them below."]
    return None, ["The recipients are elsewhere, and nothing outside this text is opened: paste a few of them below."]


async def _rows(
    document: Document, source: Recipients, templates: Mapping[str, CompiledMessage], materials: Materials
) -> tuple[list[Recipient], list[Rejected]]:
    recipients: list[Recipient] = []
    rejected: list[Rejected] = []
    try:
        async with aclosing(open_import(source, list(templates), Files(materials.root))) as blocks:
            async for block in blocks:
                recipients += block.recipients
                rejected += block.rejected
                if len(recipients) + len(rejected) > MOST_ROWS:
                    break
    except ImportSourceError as error:
        pasted = source.config_map_key_ref is not None and source.config_map_key_ref.name == _SAMPLE
        path = () if pasted else tuple(error.field.split("."))
        problem = document.problem(path, error.problem)
        if pasted:
            problem = Problem(_FILE, problem.document, problem.line, "pasted list", error.problem)
        raise SpecError([problem]) from error
    return recipients, rejected


def _provider(message: Message, documents: Sequence[Document]) -> ProviderSpec | None:
    """The provider's settings, if they stand in the file."""
    return next(iter(_providers(message, documents)), None)


def _providers(message: Message, documents: Sequence[Document]) -> Iterator[ProviderSpec]:
    for one in documents:
        spec = getattr(one.resource, "spec", None)
        ref = message.provider_ref
        if isinstance(spec, ProviderSpec) and (one.resource.kind, one.resource.metadata.name) == (
            ref.kind.value,
            ref.name,
        ):
            yield spec

"""The rows of a source in; rendered messages of some recipients, and what is odd about all of them, out. No I/O.

Each row is looked at once, in constant memory: random recipients are a reservoir sample.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal

from sendonce_rendering import CompiledMessage, Content, RenderError
from sendonce_rendering.languages import is_known
from sendonce_rendering.showing import parts_of
from sendonce_rendering.sms import Segments, segments
from sendonce_store.addresses import normalised
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec.channels import RESERVED_COLUMNS
from sendonce_store.variables import template_variables
from sendonce_worker import linking
from sendonce_worker.linking import LINK_VARIABLES, Linking
from sendonce_worker.previewing.advice import TextCosts

__all__ = ["Choice", "Preview", "Rendered", "Survey", "begin", "languages", "rendered", "told", "warnings"]

_KEPT_REJECTS = 5
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is shown: those named, and so many at random."""

    wanted: Sequence[str]
    count: int
    seed: int | None
    segment_price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message to one recipient: its parts, or why it can't be rendered."""

    line: int
    ref: str | None
    channel: str
    address: str
    parts: Mapping[str, str] | None
    problem: str | None
    sms: Segments | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What the preview found. `warnings` and `notes` concern all rows; `errors` those that are shown."""

    name: str
    rows: int
    rejected: int
    messages: Sequence[Rendered]
    notes: Sequence[str]
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
    templates: Mapping[str, CompiledMessage]
    costs: TextCosts
    links: Mapping[str, Linking]
    wanted: Mapping[str, set[str]]  # as it was asked for → every way to write it
    picked: list[Recipient] = field(default_factory=list)
    sample: list[Recipient] = field(default_factory=list)
    rows: int = 0
    rejected: int = 0
    rejects: list[Rejected] = field(default_factory=list)
    unreachable: int = 0
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    languages: Counter[tuple[str, str]] = field(default_factory=Counter)  # channel, whose text
    unknown: Counter[str] = field(default_factory=Counter)  # locales that nobody knows
    known: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)

    def take(self, recipient: Recipient, rng: random.Random) -> None:
        """Count one recipient, and perhaps keep it."""
        self.rows += 1
        self.unreachable += not recipient.addresses
        variables = template_variables(recipient).keys()
        self.known |= recipient.variables.keys()
        for channel, names in self.used.items():
            if channel in recipient.addresses:
                self.absent.update((channel, name) for name in names - variables)
        self._read(recipient)
        own = _names(recipient)
        if called := {who for who, written in self.wanted.items() if written & own}:
            self.found |= called
            self.picked.append(recipient)
        self._sample(recipient, rng)

    def _read(self, recipient: Recipient) -> None:
        """Count the languages in which the messages are read, and what text messages cost."""
        if recipient.locale and not is_known(recipient.locale):
            self.unknown[recipient.locale] += 1
        for channel, template in self.templates.items():
            if template.variants and channel in recipient.addresses:
                variant = template.variant_for(recipient.locale)
                self.languages[channel, variant.language or "" if variant else "the template's own"] += 1
        if "SMS" in self.templates and "SMS" in recipient.addresses and not self.costs.enough:
            with suppress(RenderError):
                self.costs.take(linking.rendered(self.templates["SMS"], recipient, self.links.get("SMS")).text or "")

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


def begin(templates: Mapping[str, CompiledMessage], choice: Choice, links: Mapping[str, Linking]) -> Survey:
    """A survey of nothing yet. `links`: of the messages' channels, if there is a gateway."""
    made = LINK_VARIABLES.keys() if links else ()
    used = {channel: one.variables_used().difference(made) for channel, one in templates.items()}
    wanted = {who: {who, *normalised(who, used).values()} for who in choice.wanted}
    return Survey(choice, used, templates, TextCosts(choice.segment_price), links, wanted)


def _names(recipient: Recipient) -> set[str]:
    """What a recipient can be called by."""
    named = {f"line:{recipient.line}", recipient.ref or f"line:{recipient.line}"}
    return named | {text for one in recipient.addresses.values() for text in (one.original, one.normalised)}


def rendered(
    templates: Mapping[str, CompiledMessage], shown: Sequence[Recipient], links: Mapping[str, Linking]
) -> tuple[list[Rendered], dict[str, list[Content]]]:
    """Every message that these recipients have an address for, and the contents by channel."""
    messages: list[Rendered] = []
    contents: dict[str, list[Content]] = {channel: [] for channel in templates}
    for recipient in shown:
        for channel, template in templates.items():
            address = recipient.addresses.get(channel)
            if address is None:
                continue
            about = (recipient.line, recipient.ref, channel, address.original)
            try:
                content = linking.rendered(template, recipient, links.get(channel))
            except RenderError as error:
                messages.append(Rendered(*about, None, str(error)))
                continue
            contents[channel].append(content)
            sms = segments(content.text or "") if channel == "SMS" else None
            messages.append(Rendered(*about, parts_of(content), None, sms))
    return messages, contents


def languages(survey: Survey) -> list[str]:
    """Say in which languages the messages are read."""
    counted: dict[str, list[str]] = {}
    for (channel, language), count in sorted(survey.languages.items()):
        counted.setdefault(channel, []).append(f"{language} {count:,}")
    return [f"{channel}: by language: {', '.join(found)}" for channel, found in counted.items()]


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
    if survey.unknown:
        tags = ", ".join(tag for tag, _ in survey.unknown.most_common(_KEPT_REJECTS))
        count = survey.unknown.total()
        found.append(
            f"the locale of {count:,} of {survey.rows:,} recipients is unknown ({tags}): they get the template's own"
        )
    if unused := sorted(survey.known.difference(RESERVED_COLUMNS, *survey.used.values())):
        found.append(f"no template uses {', '.join(unused)}")
    return found


def told(rejected: Sequence[Rejected]) -> str:
    """The first few refused rows in words."""
    shown = [f"line {row.line}: {row.field}: {row.reason}" for row in rejected[:_EXAMPLES]]
    more = len(rejected) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")

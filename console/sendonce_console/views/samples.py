"""A template as people see it, without a person: names that it uses in, a sample of each out. Pure.

Whoever may see campaigns need not be somebody who may see recipients: `Dear {{ name }}` is shown as "Dear «name»".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jinja2 import Environment, TemplateSyntaxError, nodes

from sendonce_rendering import RenderError, TemplateError
from sendonce_rendering.content import Content
from sendonce_rendering.showing import compiled
from sendonce_store.spec import Message

_PARSER = Environment(autoescape=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """A message of a campaign. `content`: rendered with samples; None: `why` says why it could not be."""

    channel: str
    message: Message
    content: Content | None
    why: str = ""


def sample_of(message: Message) -> Sample:
    """Render a message with a sample for every name."""
    channel = message.channel.value
    try:
        content = compiled(message).render({name: f"«{name}»" for name in names_of(message)})
    except (TemplateError, RenderError) as error:
        return Sample(channel, message, None, f"It takes a person's own values to show it: {error}")
    return Sample(channel, message, content)


def names_of(message: Message) -> set[str]:
    """The variables that a template uses, wherever in it."""
    return {name for text in _texts(message.template.to_wire()) for name in _names(text)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _names(text: str) -> set[str]:
    try:
        tree = _PARSER.parse(text)
    except TemplateSyntaxError:
        return set()
    return {one.name for one in tree.find_all(nodes.Name) if one.ctx == "load"}

"""From a campaign's message template to what is sent to one recipient.

Flows in: the template of one message (`compile_message`, once per campaign), then the variables of each recipient
(`CompiledMessage.render`). Flows out: a `Content`, which is the same for the same variables at any time on any
machine: a retry sends the same bytes, and what went out can be shown again later.

source → `syntax` (refuse) → `rewriting` (meter) → `part` (compile, render) → here: header checks → `Content`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sendonce_worker.rendering.content import Content
from sendonce_worker.rendering.errors import TemplateError
from sendonce_worker.rendering.header_rules import check_names, first_control, require_encodable, require_one_line
from sendonce_worker.rendering.meter import Limits, Meter
from sendonce_worker.rendering.part import Part, compile_part
from sendonce_worker.rendering.template_parts import TemplateParts

__all__ = ["CompiledMessage", "compile_message"]

# A header's template may be longer than the header: it holds conditions too.
_HEADER_SOURCE_LENGTH = 8 * 1024


@dataclass(frozen=True, slots=True)
class CompiledMessage:
    """A message template, ready to be rendered any number of times. Made by `compile_message`."""

    limits: Limits
    sender: Part | None
    reply_to: Part | None
    subject: Part | None
    text: Part | None
    html: Part | None
    headers: tuple[tuple[str, Part], ...]
    constant: Content | None

    def render(self, variables: Mapping[str, object]) -> Content:
        """Return the message for the recipient with these variables.

        RenderError: a variable is undefined or null, a value would break a header, or the template did something it
        may not, or took too many steps or too much room.
        """
        if self.constant is not None:
            return self.constant
        meter = Meter(self.limits)
        return Content(
            _line(self.sender, variables, meter),
            _line(self.reply_to, variables, meter),
            _line(self.subject, variables, meter),
            _body(self.text, variables, meter),
            _body(self.html, variables, meter),
            tuple([(name, _line(part, variables, meter) or "") for name, part in self.headers]),
        )

    def variables_used(self) -> frozenset[str]:
        """Return the names the template looks up, those with a default included."""
        return frozenset().union(*(part.variables for part in self._parts()))

    def has_variables(self) -> bool:
        """Say whether anything has to be filled in at all."""
        return any(part.template is not None for part in self._parts())

    def _parts(self) -> Iterator[Part]:
        yield from filter(None, (self.sender, self.reply_to, self.subject, self.text, self.html))
        yield from (part for _, part in self.headers)


def compile_message(template: object, channel: str, limits: Limits | None = None) -> CompiledMessage:
    """Return the compiled form of a message template for this channel ("Email", "SMS", …).

    `template` is a `TemplateParts`, a mapping as in YAML, or an object with such attributes. TemplateError names the
    field, the line, what is wrong and what would be right.
    """
    limits = limits or Limits()
    parts = TemplateParts.of(template)
    _require_parts(parts, channel)
    check_names(list(parts.headers))
    message = CompiledMessage(
        limits=limits,
        sender=_compiled_line("from", parts.sender, limits),
        reply_to=_compiled_line("replyTo", parts.reply_to, limits),
        subject=_compiled_line("subject", parts.subject, limits),
        text=_compiled_body("text", parts.text, limits.text_length),
        html=_compiled_body("html", parts.html, limits.html_length, escaped=True),
        headers=tuple(_compiled_headers(parts.headers, limits)),
        constant=None,
    )
    return message if message.has_variables() else replace(message, constant=message.render({}))


def _require_parts(parts: TemplateParts, channel: str) -> None:
    if channel == "Email":
        if not parts.subject:
            raise TemplateError("subject", "an email needs a subject")
        if not parts.text and not parts.html:
            raise TemplateError("text", "an email needs text or html, or both")
        return
    if parts.html is not None:
        raise TemplateError("html", "only the channel Email takes html; use text")
    if not parts.text:
        raise TemplateError("text", "this channel needs text")


def _compiled_line(field: str, source: str | None, limits: Limits) -> Part | None:
    if source is None:
        return None
    line = source.rstrip("\r\n")  # YAML's "|" ends with a line break that nobody means
    if character := first_control(line):
        raise TemplateError(field, f"this must be one line without control characters; it has a {character}")
    _require_source_length(field, line, _HEADER_SOURCE_LENGTH)
    return compile_part(field, line, limits.line_length)


def _compiled_headers(headers: Mapping[str, str], limits: Limits) -> Iterator[tuple[str, Part]]:
    for name, source in headers.items():
        part = _compiled_line(f"headers.{name}", source, limits)
        if part is not None:
            yield name, part


def _compiled_body(field: str, source: str | None, max_length: int, *, escaped: bool = False) -> Part | None:
    if source is None:
        return None
    _require_source_length(field, source, max_length)
    return compile_part(field, source, max_length, escaped=escaped)


def _require_source_length(field: str, source: str, max_length: int) -> None:
    if len(source) > max_length:
        raise TemplateError(field, f"the template is {len(source)} characters long; at most {max_length} are allowed")


def _line(part: Part | None, variables: Mapping[str, object], meter: Meter) -> str | None:
    if part is None:
        return None
    text = part.render(variables, meter)
    require_one_line(part.field, text, variables)
    require_encodable(part.field, text)
    return text


def _body(part: Part | None, variables: Mapping[str, object], meter: Meter) -> str | None:
    if part is None:
        return None
    text = part.render(variables, meter)
    if part.template is not None:
        require_encodable(part.field, text)
    return text

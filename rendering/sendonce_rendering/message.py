"""From a campaign's message template to what is sent to one recipient.

Flows in: the template of one message (`compile_message`, once per campaign), then the variables of each recipient
(`CompiledMessage.render`). Flows out: a `Content`, which is the same for the same variables at any time on any
machine: a retry sends the same bytes, and what went out can be shown again later.

source → `bodies` (MJML, CSS, text of HTML) → `syntax` (refuse) → `rewriting` (meter) → `part` (compile, render)
→ here: the recipient's language, header checks, the channel's bound → `Content`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sendonce_rendering.attached import AttachedFile
from sendonce_rendering.bodies import bodies_of
from sendonce_rendering.channel_bounds import require_fit
from sendonce_rendering.content import Content, Pieces
from sendonce_rendering.errors import RenderError, TemplateError
from sendonce_rendering.header_rules import check_names, encoded, first_control, require_one_line
from sendonce_rendering.languages import is_known, lookup, normal, suggestion
from sendonce_rendering.meter import Limits, Meter
from sendonce_rendering.part import Part, compile_part
from sendonce_rendering.template_parts import TemplateParts, Variant

__all__ = ["CompiledMessage", "compile_message"]

# A header's template may be longer than the header: it holds conditions too.
_HEADER_SOURCE_LENGTH = 8 * 1024


@dataclass(frozen=True, slots=True)
class CompiledMessage:
    """A message template, ready to be rendered any number of times. Made by `compile_message`.

    `variants` are the same in other languages, by normal form of their tag (`languages.normal`).
    """

    channel: str
    limits: Limits
    sender: Part | None
    reply_to: Part | None
    subject: Part | None
    text: Part | None
    html: Part | None
    headers: tuple[tuple[str, Part], ...]
    attachments: tuple[AttachedFile, ...] = ()
    constant: Content | None = None
    language: str | None = None
    variants: Mapping[str, CompiledMessage] = field(default_factory=dict)

    def render(self, variables: Mapping[str, object]) -> Content:
        """Return the message for the recipient with these variables, in the language of `locale` if it has that.

        RenderError: a variable is undefined or null, a value would break a header, or the template did something it
        may not, or took too many steps or too much room.
        """
        if self.variants and (variant := self.variant_for(variables.get("locale"))) is not None:
            return variant.render(variables)
        if self.constant is not None:
            return self.constant
        meter = Meter(self.limits)
        sender = _line(self.sender, variables, meter)
        reply_to = _line(self.reply_to, variables, meter)
        subject = _line(self.subject, variables, meter)
        text, text_pieces = _body(self.text, variables, meter)
        html, html_pieces = _body(self.html, variables, meter)
        headers = tuple([(name, _line(part, variables, meter) or "") for name, part in self.headers])
        content = Content(sender, reply_to, subject, text, html, headers, self.attachments, text_pieces, html_pieces)
        require_fit(self.channel, content)
        return content

    def variant_for(self, locale: object) -> CompiledMessage | None:
        """Return the variant for a recipient's locale; None: the template itself is the best there is.

        The template is one of those to choose from: where it is in pt-BR, nobody in Brazil gets the variant in pt.
        """
        own = normal(self.language) if self.language is not None else None
        for tag in lookup(locale) if isinstance(locale, str) else ():
            if tag == own or tag in self.variants:
                return self.variants.get(tag)
        return None

    def variables_used(self) -> frozenset[str]:
        """Return the names the template looks up in any language, those with a default included."""
        own = frozenset().union(*(part.variables for part in self._parts()))
        return own.union(*(variant.variables_used() for variant in self.variants.values()))

    def has_variables(self) -> bool:
        """Say whether anything has to be filled in at all."""
        return any(part.template is not None for part in self._parts())

    def _parts(self) -> Iterator[Part]:
        yield from filter(None, (self.sender, self.reply_to, self.subject, self.text, self.html))
        yield from (part for _, part in self.headers)


def compile_message(
    template: object, channel: str, limits: Limits | None = None, attachments: Sequence[AttachedFile] = ()
) -> CompiledMessage:
    """Return the compiled form of a message template for this channel ("Email", "SMS", …).

    `template` is a `TemplateParts`, a mapping as in YAML, or an object with such attributes. TemplateError names the
    field, the line, what is wrong and what would be right.
    """
    limits, files = limits or Limits(), tuple(attachments)
    parts = TemplateParts.of(template)
    check_names(list(parts.headers))
    _require_language("locale", parts.locale)
    message = _compiled(parts, channel, limits, files)
    variants = {}
    for variant in parts.variants:
        place = f"variants[{variant.locale}]"
        _require_language(f"{place}.locale", variant.locale)
        tag = normal(variant.locale) or variant.locale
        if tag in variants:
            raise TemplateError(f"{place}.locale", "this language has a text already; language tags ignore case")
        variants[tag] = _compiled_variant(parts, variant, channel, limits, files)
    return replace(message, variants=variants)


def _compiled_variant(
    parts: TemplateParts, variant: Variant, channel: str, limits: Limits, files: tuple[AttachedFile, ...]
) -> CompiledMessage:
    try:
        return _compiled(parts.in_language_of(variant), channel, limits, files)
    except TemplateError as error:
        raise TemplateError(f"variants[{variant.locale}].{error.field}", error.message, error.line) from None


def _require_language(field: str, tag: str | None) -> None:
    if tag is not None and not is_known(tag):
        raise TemplateError(field, f"there is no locale {tag!r}; {suggestion(tag)}")


def _compiled(parts: TemplateParts, channel: str, limits: Limits, files: tuple[AttachedFile, ...]) -> CompiledMessage:
    bodies = bodies_of(parts, channel, limits)
    message = CompiledMessage(
        channel=channel,
        limits=limits,
        sender=_compiled_line("from", parts.sender, limits, parts.locale),
        reply_to=_compiled_line("replyTo", parts.reply_to, limits, parts.locale),
        subject=_compiled_line("subject", parts.subject, limits, parts.locale),
        text=bodies.text,
        html=bodies.html,
        headers=tuple(_compiled_headers(parts, limits)),
        attachments=files,
        language=parts.locale,
    )
    return message if message.has_variables() else replace(message, constant=_constant(message))


def _constant(message: CompiledMessage) -> Content:
    try:
        return message.render({})
    except RenderError as error:
        raise TemplateError(error.field or "text", error.message, error.line) from None


def _compiled_line(field: str, source: str | None, limits: Limits, language: str | None) -> Part | None:
    if source is None:
        return None
    line = source.rstrip("\r\n")  # YAML's "|" ends with a line break that nobody means
    if character := first_control(line):
        raise TemplateError(field, f"this must be one line without control characters; it has a {character}")
    if len(line) > _HEADER_SOURCE_LENGTH:
        most = f"at most {_HEADER_SOURCE_LENGTH} are allowed"
        raise TemplateError(field, f"the template is {len(line)} characters long; {most}")
    return compile_part(field, line, limits.line_length, language=language)


def _compiled_headers(parts: TemplateParts, limits: Limits) -> Iterator[tuple[str, Part]]:
    for name, source in parts.headers.items():
        part = _compiled_line(f"headers.{name}", source, limits, parts.locale)
        if part is not None:
            yield name, part


def _line(part: Part | None, variables: Mapping[str, object], meter: Meter) -> str | None:
    if part is None:
        return None
    text = part.render(variables, meter)
    require_one_line(part.field, text, variables)
    encoded(part.field, text)
    return text


def _body(part: Part | None, variables: Mapping[str, object], meter: Meter) -> tuple[str | None, Pieces | None]:
    if part is None:
        return None, None
    pieces = part.pieces(variables, meter)
    text = "".join(pieces)
    utf8 = encoded(part.field, text)
    return text, Pieces(pieces, part.literals, utf8)

"""The bodies of a message: its text and its HTML, from what the template gives.

Flows in: the template's parts. Flows out: up to two compiled parts. MJML becomes HTML, rules of CSS go into the
elements, and a mail without text gets the text of its HTML: all of it once, here.
"""

from __future__ import annotations

from typing import NamedTuple

from sendonce_rendering.errors import TemplateError
from sendonce_rendering.meter import Limits
from sendonce_rendering.part import Part, check_source, compile_part
from sendonce_rendering.plain_text import text_of_html
from sendonce_rendering.shaping import html_of_mjml, with_inline_css
from sendonce_rendering.template_parts import TemplateParts

__all__ = ["Bodies", "bodies_of"]


class Bodies(NamedTuple):
    """The compiled bodies; None for one that the message does not have."""

    text: Part | None
    html: Part | None


def bodies_of(parts: TemplateParts, channel: str, limits: Limits) -> Bodies:
    """Compile the bodies. TemplateError."""
    _require(parts, channel)
    field, source = ("mjml", parts.mjml) if parts.mjml is not None else ("html", parts.html)
    text = None
    if parts.text is not None:
        _require_source_length("text", parts.text, limits.text_length)
        text = compile_part("text", parts.text, limits.text_length, language=parts.locale)
    if source is None:
        return Bodies(text, None)
    _require_source_length(field, source, limits.html_length)
    check_source(field, source)
    plain = html_of_mjml(field, source) if field == "mjml" else source
    shaped = with_inline_css(field, plain) if parts.inline_css else plain
    html = compile_part(field, shaped, limits.html_length, escaped=True, language=parts.locale)
    return Bodies(text or _text_of(plain, field, limits, parts.locale), html)


def _require(parts: TemplateParts, channel: str) -> None:
    if channel == "Email":
        if not parts.subject:
            raise TemplateError("subject", "an email needs a subject")
        if not parts.text and not parts.html and not parts.mjml:
            raise TemplateError("text", "an email needs text or html, or both")
        if parts.html is not None and parts.mjml is not None:
            raise TemplateError("mjml", "it becomes the html: keep one of html and mjml")
        return
    for name in ("html", "mjml"):
        if getattr(parts, name) is not None:
            raise TemplateError(name, f"only the channel Email takes {name}; use text")
    if not parts.text:
        raise TemplateError("text", "this channel needs text")


def _text_of(html: str, field: str, limits: Limits, language: str | None) -> Part | None:
    """Compile the text of the HTML; None if nothing in it can be read."""
    source = text_of_html(field, html)
    if not source.strip():
        return None
    try:
        return compile_part("text", source, limits.html_length, language=language)
    except TemplateError as error:
        message = f"no text can be made of {field} ({error.message}); give the template a text of its own"
        raise TemplateError("text", message) from None


def _require_source_length(field: str, source: str, max_length: int) -> None:
    if len(source) > max_length:
        raise TemplateError(field, f"the template is {len(source)} characters long; at most {max_length} are allowed")

"""The sources of a message template, read from whatever form the campaign has them in.

Flows in: the `template` of a campaign's message: a mapping as it stands in YAML (`from`, `replyTo`, …), or an object
with the attributes below. Flows out: `TemplateParts`, which `message.compile_message` compiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sendonce_rendering.errors import TemplateError

__all__ = ["TemplateParts", "Variant"]

# Each part with the names it may have: the attribute's first, then the YAML's.
_TEXT_FIELDS: dict[str, tuple[str, ...]] = {
    "sender": ("sender", "from", "from_"),
    "reply_to": ("reply_to", "replyTo"),
    "subject": ("subject",),
    "text": ("text",),
    "html": ("html",),
    "mjml": ("mjml",),
    "locale": ("locale",),
}
_VARIANT_FIELDS = ("subject", "text", "html", "mjml")


@dataclass(frozen=True, slots=True)
class Variant:
    """What a template says in another language; None where it leaves that to the template."""

    locale: str
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    mjml: str | None = None

    @property
    def has_body(self) -> bool:
        """Whether it says more than a subject."""
        return (self.text, self.html, self.mjml) != (None,) * 3


@dataclass(frozen=True, slots=True)
class TemplateParts:
    """The source of each part; None where the template does not have it. Files were read before this."""

    sender: str | None = None
    reply_to: str | None = None
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    mjml: str | None = None
    inline_css: bool = False
    locale: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()

    @classmethod
    def of(cls, template: object) -> TemplateParts:
        """Return the parts of a mapping or of an object with attributes. TemplateError for what is not text."""
        if isinstance(template, TemplateParts):
            return template
        texts = {name: _text(name, _first(template, names)) for name, names in _TEXT_FIELDS.items()}
        return cls(
            **texts,
            inline_css=_first(template, ("inline_css", "inlineCSS")) is True,
            headers=_headers(_first(template, ("headers",))),
            variants=tuple(_variants(_first(template, ("variants",)))),
        )

    def in_language_of(self, variant: Variant) -> TemplateParts:
        """Return the parts with those of a variant in their place. A body is never half in another language."""
        own = {name: getattr(variant, name) for name in _VARIANT_FIELDS}
        kept = () if variant.has_body else ("text", "html", "mjml")
        own |= {name: getattr(self, name) for name in kept}
        return replace(self, **{**own, "subject": variant.subject or self.subject}, locale=variant.locale, variants=())


def _first(template: object, names: tuple[str, ...]) -> object:
    for name in names:
        value = template.get(name) if isinstance(template, Mapping) else getattr(template, name, None)
        if value is not None:
            return value
    return None


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TemplateError(name, f"this must be a text, not a {type(value).__name__}")


def _headers(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TemplateError("headers", "this must be a mapping of names to texts")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TemplateError(f"headers.{name}", "a header's name and value must be texts; put them in quotes")
    return dict(value)


def _variants(value: object) -> Iterable[Variant]:
    if value is None:
        return
    if not isinstance(value, (list, tuple)):
        raise TemplateError("variants", "this must be a list, each entry with a locale")
    for one in value:
        locale = _text("variants", _first(one, ("locale",)))
        if not locale:
            raise TemplateError("variants", "each needs a locale, such as pt-BR")
        texts = {name: _text(f"variants[{locale}].{name}", _first(one, (name,))) for name in _VARIANT_FIELDS}
        yield Variant(locale, **texts)

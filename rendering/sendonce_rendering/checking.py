"""What can be said of a template without making anything of it: for whoever has to refuse one before it is frozen.

Flows in: the template of one message. Flows out: nothing, or the `TemplateError` that its sender is to see. What only
the programs of MJML and CSS find is left to `compile_message`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sendonce_rendering.errors import TemplateError
from sendonce_rendering.message import compile_message
from sendonce_rendering.part import check_source
from sendonce_rendering.template_parts import TemplateParts, Variant

__all__ = ["check_message"]

_STAND_IN = "."
P = TypeVar("P", TemplateParts, Variant)


def check_message(template: object, channel: str) -> None:
    """Compile a message template in all its languages, and forget it. TemplateError, as `compile_message` has it."""
    parts = TemplateParts.of(template)
    variants = tuple(_variant(variant) for variant in parts.variants)
    compile_message(replace(_unshaped(parts), inline_css=False, variants=variants), channel)


def _variant(variant: Variant) -> Variant:
    try:
        return _unshaped(variant)
    except TemplateError as error:
        raise TemplateError(f"variants[{variant.locale}].{error.field}", error.message, error.line) from None


def _unshaped(parts: P) -> P:
    """Take the parts without MJML, once that is known to be a template."""
    if parts.mjml is None:
        return parts
    check_source("mjml", parts.mjml)
    return replace(parts, mjml=None, text=parts.text or _STAND_IN)

"""The variables of one part's render, with the meter that its filters and operators pay."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Template
from jinja2.runtime import Context

from sendonce_rendering.meter import Meter

__all__ = ["MeteredContext"]


class MeteredContext(Context):
    """The variables of one part's render, together with the meter of the whole message's render.

    `language` is the tag of the language that the part says it is written in.
    """

    meter: Meter
    language: str | None

    @classmethod
    def of(
        cls, template: Template, variables: Mapping[str, object], meter: Meter, language: str | None = None
    ) -> MeteredContext:
        """Return a context for one render of this template."""
        context = cls(template.environment, {**template.globals, **variables}, template.name, {})
        context.meter = meter
        context.language = language
        return context

    def derived(self, locals: dict[str, object] | None = None) -> Context:  # noqa: A002  # the base class's name
        """Return a context with more variables for something called from inside a loop, with the same meter."""
        context = super().derived(locals)
        if isinstance(context, MeteredContext):
            context.meter = self.meter
            context.language = self.language
        return context

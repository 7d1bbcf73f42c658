"""One part of a message (its subject, say), compiled once and rendered for every recipient.

Flows in: the part's source. Flows out: a `Part`: its constant text if there is nothing to fill in, else a compiled
template. This is the one boundary at which whatever Jinja or Python raises becomes a `TemplateError` or a
`RenderError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from jinja2 import Environment, Template, UndefinedError, meta
from jinja2 import TemplateError as JinjaTemplateError
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context

from sendonce_rendering.context import MeteredContext
from sendonce_rendering.errors import RenderError, TemplateError
from sendonce_rendering.meter import LimitError, Meter
from sendonce_rendering.rewriting import metered
from sendonce_rendering.sandbox import MeteredEnvironment
from sendonce_rendering.syntax import parse

__all__ = ["Part", "check_source", "compile_part"]

# characters; shorter pieces are not worth remembering
_LONG = 128
_MARKERS = ("{{", "{%", "{#")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")

_PLAIN = MeteredEnvironment(autoescape=False)
_ESCAPED = MeteredEnvironment(autoescape=True)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message. `constant` is its text if it is the same for everybody; `field` names it in errors.

    `literals` are the long pieces of the template's own text.
    """

    field: str
    max_length: int
    variables: frozenset[str] = frozenset()
    constant: str | None = None
    template: Template | None = None
    language: str | None = None
    literals: frozenset[str] = frozenset()

    def render(self, variables: Mapping[str, object], meter: Meter) -> str:
        """Return the part's text for one recipient. RenderError says why not."""
        return "".join(self.pieces(variables, meter))

    def pieces(self, variables: Mapping[str, object], meter: Meter) -> Sequence[str]:
        """Return the part's text in pieces, of which those in `literals` are the same for everybody. RenderError."""
        if self.template is None:
            return (self.constant or "",)
        try:
            return self._filled(self.template, variables, meter)
        except Exception as error:  # noqa: BLE001  # a template can raise anything; all of it is the recipient's error
            self._fail(error)

    def _filled(self, template: Template, variables: Mapping[str, object], meter: Meter) -> Sequence[str]:
        pieces: list[str] = []
        room = self.max_length
        root: Callable[[Context], Iterator[str]] = template.root_render_func
        for piece in root(MeteredContext.of(template, variables, meter, self.language)):
            room -= len(piece)
            if room < 0:
                raise LimitError("too_large", f"the text is longer than {self.max_length} characters")
            pieces.append(piece)
        return pieces

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the RenderError for what a template raised; its cause is cut off, for it may quote a variable."""
        code, message = _reason(error)
        raise RenderError(code, message, self.field, self._line(error.__traceback__)) from None

    def _line(self, traceback: TracebackType | None) -> int | None:
        line: int | None = None
        template: Template | None = self.template
        while traceback is not None and template is not None:
            if traceback.tb_frame.f_code.co_filename == template.filename:
                line = template.get_corresponding_lineno(traceback.tb_lineno)
            traceback = traceback.tb_next
        return line


def compile_part(
    field: str, source: str, max_length: int, *, escaped: bool = False, language: str | None = None
) -> Part:
    """Return the compiled part. TemplateError says what is wrong with the source, and on which line."""
    if not any(marker in source for marker in _MARKERS):
        text = _LINE_ENDS.sub("\n", source)
        return Part(field, max_length, constant=text, literals=frozenset({text}))
    environment = _ESCAPED if escaped else _PLAIN
    try:
        return _compiled(environment, field, source, max_length, language)
    except (RecursionError, SyntaxError, JinjaTemplateError) as error:
        message = f"the template cannot be compiled ({error}); is it nested too deeply?"
        raise TemplateError(field, message, getattr(error, "lineno", None)) from None


def check_source(field: str, source: str) -> None:
    """Refuse what cannot be a template, before anything is made of it. TemplateError."""
    parse(_ESCAPED, field, source)


def _compiled(environment: Environment, field: str, source: str, max_length: int, language: str | None) -> Part:
    tree = parse(environment, field, source)
    names = frozenset(meta.find_undeclared_variables(tree))
    code = environment.compile(metered(tree))
    template = Template.from_code(environment, code, environment.globals)
    return Part(field, max_length, names, template=template, language=language, literals=_literals(template))


def _literals(template: Template) -> frozenset[str]:
    """Return the long texts that the compiled template writes as they are: constants of its code."""
    constants = template.root_render_func.__code__.co_consts
    return frozenset(one for one in constants if isinstance(one, str) and len(one) >= _LONG)


def _reason(error: Exception) -> tuple[str, str]:
    if isinstance(error, LimitError):
        return error.code, error.message
    if isinstance(error, UndefinedError):
        return "undefined_variable", f"{error.message}; add it to the recipient or give it a default"
    if isinstance(error, SecurityError):
        return "unsafe", str(error)
    if isinstance(error, RecursionError):
        return "too_deep", "a value or a call is nested too deeply"
    # Other messages may quote a variable's value ("could not convert string to float: '…'"): only these are known
    # to speak of types alone.
    detail = f": {error}" if isinstance(error, (TypeError, ZeroDivisionError)) else ""
    return "expression_failed", f"an expression failed with {type(error).__name__}{detail}"

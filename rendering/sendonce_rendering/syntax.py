"""Parsing a template and refusing what may not be in it.

Flows in: the source of one part. Flows out: its syntax tree, of which every node is known to be harmless, or a
`TemplateError` with the line. What is visible here is refused here, before anything is sent; what only shows at
render time (a filter's name in a variable, say) is left to `sandbox`. Next: `rewriting`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from jinja2 import Environment, TemplateSyntaxError, nodes

from sendonce_rendering.errors import TemplateError
from sendonce_rendering.filters import FILTERS, TESTS

__all__ = ["parse"]

_MAX_NODES = 20_000

_ALLOWED_NODES = (
    nodes.Assign, nodes.AssignBlock, nodes.And, nodes.BinExpr, nodes.Call, nodes.CallBlock, nodes.Compare,
    nodes.Concat, nodes.CondExpr, nodes.Const, nodes.Dict, nodes.Filter, nodes.FilterBlock, nodes.For, nodes.Getattr,
    nodes.Getitem, nodes.If, nodes.Keyword, nodes.List, nodes.Macro, nodes.Name, nodes.Not, nodes.NSRef,
    nodes.Operand, nodes.Or, nodes.Output, nodes.Pair, nodes.Slice, nodes.Template, nodes.TemplateData, nodes.Test,
    nodes.Tuple, nodes.UnaryExpr, nodes.With,
)  # fmt: skip

_ALONE = "a template stands alone; put all of its text here"
_REFUSED_NODES: dict[type[nodes.Node], str] = {
    nodes.Include: f"include is not available: {_ALONE}",
    nodes.Import: f"import is not available: {_ALONE}",
    nodes.FromImport: f"import is not available: {_ALONE}",
    nodes.Extends: f"extends is not available: {_ALONE}",
    nodes.Block: f"block is not available: {_ALONE}",
    nodes.Scope: "autoescape blocks are not available; html is escaped, |safe makes an exception",
}


def parse(environment: Environment, field: str, source: str) -> nodes.Template:
    """Return the checked syntax tree of a part. TemplateError names the line and, where it can, the remedy."""
    try:
        tree = environment.parse(source)
    except TemplateSyntaxError as error:
        raise TemplateError(field, f"{error.message}", error.lineno) from None
    except RecursionError:
        raise TemplateError(field, "the template is nested too deeply") from None
    _check(field, tree)
    return tree


def _check(field: str, tree: nodes.Template) -> None:
    waiting: list[tuple[nodes.Node, bool]] = [(tree, False)]
    count = 0
    while waiting:
        node, in_macro = waiting.pop()
        count += 1
        if count > _MAX_NODES:
            raise TemplateError(field, f"the template has more than {_MAX_NODES} elements; make it shorter")
        if problem := _problem(node, in_macro=in_macro):
            raise TemplateError(field, problem, node.lineno)
        inside = in_macro or isinstance(node, (nodes.Macro, nodes.CallBlock))
        waiting.extend((child, inside) for child in node.iter_child_nodes())


def _problem(node: nodes.Node, *, in_macro: bool) -> str | None:  # noqa: PLR0911  # a list of cases
    """Return what is wrong with this node by itself, if anything."""
    if not isinstance(node, _ALLOWED_NODES):
        return _REFUSED_NODES.get(type(node), f"{type(node).__name__} is not available in templates")
    if isinstance(node, nodes.Getattr):
        return _private(node.attr)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return _dunder(node.arg.value)
    if isinstance(node, nodes.Filter):
        return _unknown("filter", node.name, FILTERS) or _filter_argument(node)
    if isinstance(node, nodes.Test):
        return _unknown("test", node.name, TESTS)
    if isinstance(node, nodes.For) and node.recursive:
        return "recursive loops are not available; write nested loops"
    if in_macro and isinstance(node, nodes.Name) and node.name in {"varargs", "kwargs"}:
        return f"{node.name} is not available; give the macro named arguments"
    return None


def _private(name: str) -> str | None:
    return f"{name!r} is private: names that begin with _ cannot be reached" if name.startswith("_") else None


def _dunder(name: object) -> str | None:
    return _private(name) if isinstance(name, str) and name.startswith("__") else None


def _filter_argument(node: nodes.Filter) -> str | None:
    """Check the filter that `map` is told to apply, where it is written out."""
    if node.name == "map" and node.args and isinstance(node.args[0], nodes.Const):
        return _unknown("filter", str(node.args[0].value), FILTERS)
    return None


def _unknown(kind: str, name: str, known: Iterable[str]) -> str | None:
    names = sorted(known)
    if name in names:
        return None
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
    return f"there is no {kind} {name!r}; {hint}"

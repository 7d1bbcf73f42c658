"""Putting the meter into a template: the places where it repeats, calls, or makes a value pay for it.

Flows in: a checked syntax tree (see `syntax`). Flows out: the same template, in which the iterable of each `for` is
counted, the body of each macro pays at its start, and lists, slices, captured blocks and `~` go through a check. The
filters named here are those of `sandbox`. Everything between two payments is bounded by the length of the source.
"""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from sendonce_rendering.meter import CHARACTERS_PER_STEP_SHIFT

__all__ = ["metered"]


def metered(tree: nodes.Template) -> nodes.Template:
    """Return the tree with the payments in it. The given tree is changed."""
    rewritten: nodes.Template = _Metering().visit(tree)
    return rewritten.set_environment(tree.environment)  # type: ignore[arg-type, return-value]  # both were parsed


class _Metering(NodeTransformer):
    """The visitor's methods bear the names of the nodes they replace."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        steps = _steps([*node.body, *([node.test] if node.test else [])])
        self.generic_visit(node)
        node.iter = _call("_each", node.iter, node, steps)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        return self._paying_body(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        return self._paying_body(node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.filter = _call("_built", node.filter, node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("_concatenated", nodes.Tuple(node.nodes, "load", lineno=node.lineno), node)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        return self._checked_literal(node, node.items)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        return self._checked_literal(node, node.items) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        return self._checked_literal(node, node.items)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("_built", node, node) if isinstance(node.arg, nodes.Slice) else node

    def _paying_body(self, node: nodes.Macro | nodes.CallBlock) -> nodes.Node:
        payment = _call("_spent", nodes.Const(None, lineno=node.lineno), node, _steps([*node.body, *node.defaults]))
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(payment, lineno=node.lineno))
        return node

    def _checked_literal(self, node: nodes.Expr, items: Iterable[nodes.Node]) -> nodes.Node:
        if all(isinstance(item, nodes.Const) for item in items):
            return node
        self.generic_visit(node)
        return _call("_built", node, node)


def _call(name: str, argument: nodes.Node | None, place: nodes.Node, *constants: int) -> nodes.Filter:
    arguments = [nodes.Const(value, lineno=place.lineno) for value in constants]
    return nodes.Filter(argument, name, arguments, [], None, None, lineno=place.lineno)


def _steps(body: Iterable[nodes.Node]) -> int:
    """Count what one turn through these nodes costs; the bodies of inner loops and macros pay for themselves."""
    steps = 1
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        steps += 1
        if isinstance(node, nodes.TemplateData):
            steps += len(node.data) >> CHARACTERS_PER_STEP_SHIFT
        own = ("body", "defaults") if isinstance(node, (nodes.For, nodes.Macro, nodes.CallBlock)) else ()
        waiting.extend(node.iter_child_nodes(exclude=own))
    return steps

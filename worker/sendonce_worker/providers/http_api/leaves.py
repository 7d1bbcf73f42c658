"""The templates inside a request body: one string of it at a time.

In: a string of a ``bodyTemplate``. Out: a :data:`Leaf`, which gives the rendered string for a message's
names. Escaping is not a template's business: the body that holds the leaf encodes whatever comes out of
it (``body``), so a recipient's variable cannot break out of its place.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError

BODY_FIELD = "http.bodyTemplate"
Names = Mapping[str, object]
Leaf = Callable[[Names], str]

_SIMPLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_AS_JSON = re.compile(r"\{\{-?\s*(.+?)\s*\|\s*tojson\s*-?\}\}", re.DOTALL)
_NO_VALUE = ""
_LONGEST = 4 * 1024 * 1024
"""Characters that a filter may give."""
_MOST_FILTERS = 20
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.Getattr, nodes.Getitem),
    *(nodes.Slice, nodes.Filter, nodes.Keyword, nodes.Test, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Add, nodes.Sub, nodes.Div, nodes.FloorDiv, nodes.Neg),
    *(nodes.Pos, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair),
)
"""What a template can be made of. Without loops, calls, assignments and multiplication none can run away."""


def has_template(text: str) -> bool:
    """Say whether the text holds anything to render."""
    return "{{" in text or "{%" in text or "{#" in text


def names_of(message: Message, secrets: Mapping[str, str]) -> dict[str, object]:
    """Return what a body template can use; the message's own names win over the recipient's variables."""
    content = message.content
    return {
        **message.variables,
        "to": message.to,
        "channel": message.channel,
        "subject": content.subject,
        "text": content.text,
        "html": content.html,
        "key": message.key,
        "delivery_id": message.delivery_id,
        "variables": message.variables,
        "secret": secrets,
    }


def compile_leaf(source: str, secrets: Mapping[str, str], field: str = BODY_FIELD) -> Leaf:
    """Compile one string. Raises ``ProviderConfigError`` for syntax and for secrets that are not there."""
    _check(source, secrets, field)
    simple = _SIMPLE.fullmatch(source)
    if simple and simple[1] != "secret":
        return _lookup(simple[1], field)
    template = _environment().from_string(source)

    def render(names: Names) -> str:
        try:
            return template.render(names)
        except Exception as error:  # a template runs on recipients' data: any error is that data's
            raise _unrenderable(str(error), field) from error

    return render


def is_constant(source: str) -> bool:
    """Say whether a compiled string depends on nothing but the Secret."""
    return meta.find_undeclared_variables(_environment().parse(source)) <= {"secret"}


def compile_json_leaf(source: str, secrets: Mapping[str, str]) -> Callable[[Names], str] | None:
    """Compile a string that is nothing but ``{{ … | tojson }}`` to the JSON value itself; else None."""
    found = _AS_JSON.fullmatch(source)
    if not found or "}}" in found[1]:
        return None
    _check(source, secrets, BODY_FIELD)
    expression = _environment().compile_expression(found[1], undefined_to_none=False)

    def render(names: Names) -> str:
        try:
            return _to_json(expression(**names))
        except Exception as error:  # as above
            raise _unrenderable(str(error)) from error

    return render


def _lookup(name: str, field: str) -> Leaf:
    def look_up(names: Names) -> str:
        try:
            value = names[name]
        except KeyError:
            raise _unrenderable(f"'{name}' is undefined", field) from None
        if type(value) is str:
            return value
        return _NO_VALUE if value is None else str(value)

    return look_up


def _check(source: str, secrets: Mapping[str, str], field: str) -> None:
    try:
        tree = _environment().parse(source)
    except TemplateError as error:
        raise ProviderConfigError(field, f"template syntax: {error} in {source[:80]!r}") from error
    _check_nodes(tree, source, field)
    for name in _secrets_used(tree):
        if name not in secrets:
            raise ProviderConfigError(field, f"uses secret.{name}, but the credentials Secret has no key {name!r}")


def _check_nodes(tree: nodes.Template, source: str, field: str) -> None:
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            what = f"{type(node).__name__} cannot be used here, only values, filters and conditions"
            raise ProviderConfigError(field, f"{what}: {source[:80]!r}")
    if len(list(tree.find_all(nodes.Filter))) > _MOST_FILTERS:
        raise ProviderConfigError(field, f"more than {_MOST_FILTERS} filters in {source[:80]!r}")


def _secrets_used(tree: nodes.Template) -> list[str]:
    used = [node.attr for node in tree.find_all(nodes.Getattr) if _is_secret(node.node)]
    items = [node for node in tree.find_all(nodes.Getitem) if _is_secret(node.node)]
    return used + [str(node.arg.value) for node in items if isinstance(node.arg, nodes.Const)]


def _is_secret(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "secret"


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _unrenderable(why: str, field: str = BODY_FIELD) -> PermanentSendError:
    return PermanentSendError("provider_template", f"the provider's {field} cannot be rendered: {why}")


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        finalize=lambda value: _NO_VALUE if value is None else value,
        keep_trailing_newline=True,
        optimized=False,  # else filters on constants run while the template is compiled
    )
    plain = ("default", "upper", "lower", "trim", "int", "truncate")
    filters = {name: environment.filters[name] for name in plain}
    filters |= {"replace": _replace, "tojson": _to_json, "b64encode": _b64encode}
    environment.filters = {name: _bounded(one) for name, one in filters.items()}
    return environment


def _b64encode(value: object) -> str:
    return b64encode(str(value).encode()).decode("ascii")


def _replace(value: object, old: str, new: str) -> str:
    text = str(value)
    if len(text) + text.count(old) * len(new) > _LONGEST:
        raise ValueError(f"replace would give more than {_LONGEST} characters")
    return text.replace(old, new)


def _bounded(function: Callable[..., object]) -> Callable[..., object]:
    """Stop a chain of filters that multiplies its input, before memory runs out."""

    @wraps(function)
    def call(*values: object, **named: object) -> object:
        result = function(*values, **named)
        if isinstance(result, str) and len(result) > _LONGEST:
            raise ValueError(f"a filter gave more than {_LONGEST} characters")
        return result

    return call

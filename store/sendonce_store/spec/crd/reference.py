"""docs/resources.md, written from the same schemas.

`python -m sendonce_store.spec.crd.reference > docs/resources.md`; a test fails when page and models differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from sendonce_store.spec.crd.definitions import schema_of
from sendonce_store.spec.crd.kinds import CATEGORY, GROUP, RESOURCES, VERSION, ResourceKind
from sendonce_store.spec.crd.schema import Schema
from sendonce_store.spec.rule_tables import RULES, TRANSITIONS

__all__ = ["reference"]

Row = tuple[str, str, str, str]
_HEAD: Row = ("field", "value", "default", "meaning")

_INTRODUCTION = f"""\
# Resources

Written by `make docs` from the models of `{GROUP}/{VERSION}`. The CRDs are written from them too (`kubectl explain
nc.spec`), so the API server and `sendonce preview` refuse the same mistakes. `[]` stands for the entries of a list.
What is neither required nor has a default may be absent. Lengths are in characters; times are RFC 3339 with offset.

A schema does not know the names of time zones: a wrong one is taken, and then refused in the status. Unknown fields are
refused by kubectl (`--validate=strict`, its default); a client that does not ask for that gets them dropped. `kubectl
apply` keeps a copy of the document in an annotation, where there is room for 256 KiB: use `--server-side` for more."""


def reference() -> str:
    """Return the whole page."""
    blocks = [_INTRODUCTION, _overview()]
    for resource in RESOURCES:
        blocks += _section(resource, _like(resource))
    return "\n\n".join(blocks) + "\n"


def _overview() -> str:
    rows = [
        (f"[{one.kind}](#{one.kind.lower()})", f"`{one.short_name}`", _scope(one), schema_of(one)["description"])
        for one in RESOURCES
    ]
    return _table(("kind", "short", "of", "what it is"), rows) + (
        f"\n\n`kubectl get {CATEGORY}` lists the objects of all of them."
    )


def _scope(resource: ResourceKind) -> str:
    return "a namespace" if resource.namespaced else "the cluster"


def _like(resource: ResourceKind) -> ResourceKind | None:
    """Return an earlier kind of which this one has all the rules, and so all the fields."""
    earlier = RESOURCES[: RESOURCES.index(resource)]
    return next((one for one in earlier if set(RULES[one.model]) < set(RULES[resource.model])), None)


def _section(resource: ResourceKind, like: ResourceKind | None) -> Iterator[str]:
    known = set(_rows(schema_of(like))) if like else set()
    rows = [row for row in _rows(schema_of(resource)) if row not in known]
    yield f"## {resource.kind}"
    yield schema_of(resource)["description"]
    if like:
        yield f"It has the fields, the rules and the status of {like.kind}, and these."
    yield _table(_HEAD, [row for row in rows if row[0].startswith("`spec.")])
    yield f"**Rules**\n\n{_rules(resource, like)}"
    yield _shown(resource)
    if status := [row for row in rows if row[0].startswith("`status.")]:
        yield f"**Status**, written by the operator\n\n{_table(_HEAD, status)}"


def _rules(resource: ResourceKind, like: ResourceKind | None) -> str:
    known = {*RULES[like.model], *TRANSITIONS[like.model]} if like else set()
    rules = [rule for rule in (*RULES[resource.model], *TRANSITIONS[resource.model]) if rule not in known]
    return "\n".join(f"- `{_place(rule.scope, rule.field)}`: {rule.message}." for rule in rules)


def _place(scope: str, field: str) -> str:
    joined = f"{scope}{field}" if field.startswith("[*]") else f"{scope}.{field}".strip(".")
    return joined.replace("[*]", "[]")


def _shown(resource: ResourceKind) -> str:
    narrow = ", ".join(f"`{column.name}`" for column in resource.columns if not column.wide)
    wide = ", ".join(f"`{column.name}`" for column in resource.columns if column.wide)
    selectable = ", ".join(f"`{path.removeprefix('.')}`" for path in resource.selectable)
    also = f", with `-o wide` also {wide}" if wide else ""
    return f"`kubectl get {resource.short_name}` shows {narrow}{also}. `--field-selector` takes {selectable}."


# --- one row per field -----------------------------------------------------------------------------------------------
def _rows(schema: Schema, path: str = "") -> Iterator[Row]:
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        if not path and name not in {"spec", "status"}:
            continue
        if path:
            default = "required" if name in schema.get("required", ()) else _default(field)
            yield f"`{place}`", _value(field), default, _meaning(field)
        yield from _inner(field, place)


def _inner(field: Schema, place: str) -> Iterator[Row]:
    if "items" in field:
        yield from _inner(field["items"], f"{place}[]")
    elif not _is_reference(field):
        yield from _rows(field, place)


def _is_reference(field: Schema) -> bool:
    """Whether a field is no more than the name of another object, and perhaps a key in it."""
    return field.get("properties", {}).keys() <= {"kind", "name", "key"} and "properties" in field


def _default(field: Schema) -> str:
    match field.get("default"):
        case None | dict():
            return ""
        case list() as entries:
            return ", ".join(f"`{entry}`" for entry in entries)
        case bool() as truth:
            return f"`{str(truth).lower()}`"
        case other:
            return f"`{other}`"


def _value(field: Schema) -> str:
    """Say in a few words what a field takes."""
    if _is_reference(field):
        return f"`{{{', '.join(field['properties'])}}}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return "quantity"
    if "items" in field:
        return f"list of up to {field['maxItems']}: {_value(field['items'])}"
    if "additionalProperties" in field:
        return f"map of up to {field['maxProperties']}: {_value(field['additionalProperties'])}"
    return _scalar(field)


def _scalar(field: Schema) -> str:
    match field.get("type"):
        case "integer" if "maximum" in field:
            return f"{field['minimum']:,} to {field['maximum']:,}"
        case "integer":
            return f"{field['minimum']} or more"
        case "string" if "format" in field:
            return "time"
        case "string":
            return f"text, up to {field['maxLength']:,}"
        case "boolean":
            return "`true`, `false`"
    return str(field.get("type", "any JSON"))


def _meaning(field: Schema) -> str:
    """Return the description in one line; of a mere reference what the field says, not what a reference is."""
    paragraphs = field["description"].split("\n\n")
    return " ".join(paragraphs[:1] if _is_reference(field) else paragraphs).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterable[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(reference())

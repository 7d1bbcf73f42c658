"""The CRDs as files: written from the models, described, bounded, and as structural as the API server wants them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spec_cases.complete import COMPLETE

from sendonce_store.spec import RULES, TRANSITIONS
from sendonce_store.spec.crd import RESOURCES, ResourceKind, definition, files
from sendonce_store.spec.crd.__main__ import main

Schema = dict[str, Any]
Place = tuple[str, Schema]

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "crds"
BY_KUBERNETES = {"apiVersion", "kind", "metadata"}
ANY_JSON = "spec.recipients.inline.variables.*"

every_kind = pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)


def version(resource: ResourceKind) -> Schema:
    crd: Any = definition(resource)
    (one,) = crd["spec"]["versions"]
    return dict(one)


def schema_of(resource: ResourceKind) -> Schema:
    return dict(version(resource)["schema"]["openAPIV3Schema"])


def places(schema: Schema, path: str = "") -> Iterator[Place]:
    """Yield all schemas below, `*` for the entries of maps and nothing for those of lists."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        if path or name not in BY_KUBERNETES:
            yield from places(inner, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from places(schema["items"], path)
    if "additionalProperties" in schema:
        yield from places(schema["additionalProperties"], f"{path}.*")


def test_the_files_are_what_the_models_say() -> None:
    written = {path.name: path.read_text("utf-8") for path in CRDS.glob("*.yaml")}
    assert written == files(), "write them anew: make crds"


def test_the_files_repeat_what_is_shared_because_anchors_are_hard_to_read() -> None:
    assert [name for name, text in files().items() if "&id" in text or "*id" in text] == []


def test_the_files_are_the_same_each_time() -> None:
    program = "import sys; from sendonce_store.spec.crd import files; sys.stdout.write(repr(files()))"
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT / "store"), "PYTHONIOENCODING": "utf-8"}
    again = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert again.stdout.decode() == repr(files())


def test_a_stale_file_is_named_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "crds")]) == 0
    assert main(["--check", str(tmp_path / "crds")]) == 0
    (name, other, *_) = files()
    (tmp_path / "crds" / name).write_text("stale")
    (tmp_path / "crds" / other).unlink()
    (tmp_path / "crds" / "gone.yaml").write_text("of a kind that is no more")
    assert main(["--check", str(tmp_path / "crds")]) == 1
    said = capsys.readouterr().err
    assert [one for one in (name, other, "gone.yaml", "make crds") if one not in said] == []
    assert main([str(tmp_path / "crds")]) == 0
    assert main(["--check", str(tmp_path / "crds")]) == 0


def test_wrong_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--chek", "crds"]) == 2
    assert "usage" in capsys.readouterr().err


def test_every_rule_has_cel_and_words_that_name_its_field() -> None:
    rows = [row for table in (RULES, TRANSITIONS) for rows in table.values() for row in rows]
    assert [row.name for row in rows if "self" not in row.cel] == []
    assert [row.name for row in rows if row.field.rpartition(".")[2] not in row.sentence + "[*]"] == []
    assert [row.name for rows in TRANSITIONS.values() for row in rows if "oldSelf" not in row.cel] == []


@every_kind
def test_every_rule_stands_at_its_scope(resource: ResourceKind) -> None:
    rules = [*RULES[resource.model], *TRANSITIONS[resource.model]]
    found = [
        (path, one["rule"], one["message"])
        for path, schema in places(schema_of(resource))
        for one in schema.get("x-kubernetes-validations", [])
        if not one["rule"].startswith("self.all(key,")
    ]
    assert sorted(found) == sorted((rule.scope.replace("[*]", ""), rule.cel, rule.sentence) for rule in rules)


@every_kind
def test_every_field_is_described_in_a_sentence(resource: ResourceKind) -> None:
    fields = {
        f"{path}.{name}": inner.get("description", "")
        for path, schema in places(schema_of(resource))
        for name, inner in schema.get("properties", {}).items()
        if path or name not in BY_KUBERNETES
    }
    assert [name for name, text in fields.items() if not (text[:1].isupper() and text.endswith("."))] == []


@every_kind
def test_everything_is_bounded_so_that_cel_has_a_price(resource: ResourceKind) -> None:
    assert [path for path, schema in places(schema_of(resource)) if unbounded(path, schema)] == []


def unbounded(path: str, schema: Schema) -> bool:
    match schema.get("type"):
        case "string":
            return not {"maxLength", "enum"} & schema.keys()
        case "array":
            return "maxItems" not in schema
        case "integer":
            return "minimum" not in schema or ("maximum" not in schema and path.startswith("spec"))
        case "object":
            return "additionalProperties" in schema and "maxProperties" not in schema
    return False


@every_kind
def test_a_schema_is_structural_and_open_only_where_any_json_is_allowed(resource: ResourceKind) -> None:
    for path, schema in places(schema_of(resource)):
        numbers = schema.get("x-kubernetes-int-or-string")
        anything = schema.get("x-kubernetes-preserve-unknown-fields")
        assert (numbers, anything, schema.get("type")).count(None) == 2, path
        assert not anything or path == ANY_JSON
        assert not numbers or path.startswith("spec.workers.resources.")
        assert numbers or "anyOf" not in schema, path
        assert not {"$ref", "title", "const", "oneOf", "allOf", "propertyNames", "patternProperties"} & schema.keys(), (
            path
        )
        assert ("nullable" in schema) == (path == ANY_JSON), path


@every_kind
def test_a_default_says_something(resource: ResourceKind) -> None:
    defaults = {path: schema["default"] for path, schema in places(schema_of(resource)) if "default" in schema}
    assert [path for path, value in defaults.items() if value in (None, {}, [], "")] == []
    assert defaults["status"] == {"observedGeneration": -1}


@every_kind
def test_columns_and_selectable_fields_exist(resource: ResourceKind) -> None:
    known = {path for path, _ in places(schema_of(resource))} | {"metadata.creationTimestamp"}
    one = version(resource)
    paths = [entry["jsonPath"] for entry in one["additionalPrinterColumns"] + one["selectableFields"]]
    shown = [path.removeprefix(".").partition("[")[0] for path in paths]
    assert [path for path in shown if path not in known] == []


def test_the_columns_are_those_that_people_know() -> None:
    columns = {
        resource.short_name: [column.name for column in resource.columns if not column.wide] for resource in RESOURCES
    }
    assert columns == {
        "nc": ["STATUS", "TOTAL", "SENT", "FAILED", "AGE"],
        "np": ["TYPE", "READY", "STATUS", "PAUSED UNTIL", "AGE"],
        "cnp": ["TYPE", "READY", "STATUS", "PAUSED UNTIL", "AGE"],
        "na": ["CAMPAIGN", "TYPE", "COMPLETE", "CHANGED", "AGE"],
    }
    wide = [column.name for column in RESOURCES[0].columns if column.wide]
    assert wide == ["PENDING", "UNCERTAIN", "SUPPRESSED", "EXPIRED", "ETA", "CATEGORY"]


def test_lists_with_a_key_are_maps_and_all_others_are_atomic() -> None:
    kinds = {
        (path, schema["x-kubernetes-list-type"], *schema.get("x-kubernetes-list-map-keys", []))
        for resource in RESOURCES
        for path, schema in places(schema_of(resource))
        if schema.get("type") == "array"
    }
    maps = {kind for kind in kinds if kind[1] != "atomic"}
    assert maps == {
        ("spec.messages", "map", "channel"),
        ("spec.messages.template.attachments", "map", "name"),
        ("spec.messages.template.variants", "map", "locale"),
        ("status.conditions", "map", "type"),
    }


@every_kind
def test_the_complete_documents_of_the_tests_have_every_field_of_the_spec(resource: ResourceKind) -> None:
    used = {path for kind, body in COMPLETE if kind is resource.model for path in paths_in(body["spec"], "spec")}
    known = {path for path, _ in places(schema_of(resource)) if path.startswith("spec") and "*" not in path}
    assert known - used == set()


def paths_in(value: Any, path: str) -> Iterator[str]:
    yield path
    for entry in value if isinstance(value, list) else []:
        yield from paths_in(entry, path)
    for name, entry in value.items() if isinstance(value, dict) else []:
        yield from paths_in(entry, f"{path}.{name}")

"""Who applied a campaign goes from its object into the store's document."""

from __future__ import annotations

from typing import Any

from tests.operator_cases.situations import spec

from sendonce_operator.objects import CAMPAIGN, document, read
from sendonce_store.campaigns import columns_of


def body(**metadata: Any) -> dict[str, Any]:
    given = {"name": "spring", "namespace": "shop", "uid": "6f1c", "generation": 1, "resourceVersion": "7"}
    given |= {"creationTimestamp": "2026-12-01T09:00:00Z"}
    return {"metadata": {**given, **metadata}, "spec": spec().to_wire()}


def applied_by(**metadata: Any) -> str | None:
    seen = read(CAMPAIGN, body(**metadata))
    assert seen.spec is not None
    found: str | None = columns_of(document(seen, seen.spec), seen.spec)["applied_by"]
    return found


def test_the_tool_that_wrote_the_spec_or_whoever_the_annotation_names() -> None:
    wrote = [{"manager": "kubectl-create", "time": "2026-12-01T09:00:00Z", "fieldsV1": {"f:spec": {}}}]
    assert applied_by(managedFields=wrote) == "kubectl-create"
    assert applied_by(managedFields=wrote, annotations={"sendonce.dev/applied-by": "mia"}) == "mia"
    assert applied_by() is None

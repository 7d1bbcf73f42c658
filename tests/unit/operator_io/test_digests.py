"""What is remembered of a spec is small, and differs when the spec does."""

from __future__ import annotations

from typing import Any

from sendonce_operator.digests import Digests, digested


def body(generation: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "u", "generation": generation}, "spec": {"suspend": False, **spec}}


def test_a_large_spec_is_remembered_in_a_few_bytes() -> None:
    large = body(1, recipients={"inline": ["x" * 100_000]}, messages=[{"text": "y" * 100_000}])
    assert len(str(Digests().of(large))) < 500


def test_an_edit_of_what_is_digested_shows() -> None:
    digests = Digests()
    before, after = digests.of(body(1, recipients=["a"])), digests.of(body(2, recipients=["b"]))
    assert before["spec"] != after["spec"]
    assert before["spec"]["suspend"] is False
    assert digests.of(body(2, recipients=["b"])) == after


def test_the_order_of_fields_means_nothing() -> None:
    assert digested({"recipients": {"a": 1, "b": 2}}) == digested({"recipients": {"b": 2, "a": 1}})


def test_objects_without_such_fields_are_left_as_they_are() -> None:
    given = body(1, type="HTTP")
    assert Digests().of(given) == given


def test_what_the_operator_writes_is_left_out() -> None:
    metadata = {"uid": "u", "generation": 1, "annotations": {"a": "b"}}
    given = {"metadata": {**metadata, "managedFields": [{}]}, "spec": {"type": "HTTP"}, "status": {"sent": 1}}
    assert Digests().of(given) == {"metadata": metadata, "spec": {"type": "HTTP"}}
    assert given["status"] == {"sent": 1}


def test_what_is_given_is_not_changed() -> None:
    given = body(1, recipients=["a"])
    Digests().of(given)["spec"]["suspend"] = True
    assert given == body(1, recipients=["a"])
    assert Digests().of(given)["spec"]["suspend"] is False


def test_only_so_many_are_remembered() -> None:
    digests = Digests(most=2)
    for uid in ("a", "b", "c", "a"):
        given: dict[str, Any] = {"metadata": {"uid": uid, "generation": 1}, "spec": {"recipients": [uid]}}
        assert digests.of(given)["spec"] == digested(given["spec"])

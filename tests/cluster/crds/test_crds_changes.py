"""Changes of stored objects: the API server refuses what must stay, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster.crds.server import Refused, Server
from tests.spec_cases.bodies import C, campaign
from tests.spec_cases.changes import CHANGES, CONTENT, STARTED, Change
from tests.spec_cases.documents import as_document
from tests.spec_cases.large import LARGE
from tests.spec_cases.statuses import STATUSES

from sendonce_store.spec import TRANSITIONS, SpecModel

Object = dict[str, Any]
COUNTED: Object = STARTED | {"deliveries": {"total": 9, "pending": 2}}


@pytest.fixture
def stored(server: Server) -> Iterator[Callable[[Object], Object]]:
    """Return a function that creates an object; the test's end removes it."""
    made: list[Object] = []

    def create(document: Object) -> Object:
        made.append(server.create(document))
        return made[-1]

    yield create
    for one in made:
        server.delete(one)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.kind.__name__}: {change.deed}")
def test_a_change_is_refused_in_the_fields_that_must_stay_and_only_there(
    server: Server, stored: Callable[[Object], Object], change: Change
) -> None:
    old = stored(as_document(change.kind, change.old))
    if change.status:
        old = server.replace(old, old | {"status": change.status}, part="status")
    causes = causes_of_refusal(server, old, as_document(change.kind, change.new))
    assert {field for field, _ in causes} == set(change.refused)
    sentences = [rule.sentence for rule in TRANSITIONS[change.kind]]
    assert [said for _, said in causes if not any(sentence in said for sentence in sentences)] == []


def causes_of_refusal(server: Server, old: Object, new: Object) -> list[tuple[str, str]]:
    try:
        server.replace(old, new)
    except Refused as refused:
        return refused.causes
    return []


def test_a_new_object_has_a_status_of_no_generation_whatever_its_author_says(
    stored: Callable[[Object], Object],
) -> None:
    assert stored(as_document(C, campaign()) | {"status": STARTED})["status"] == {"observedGeneration": -1}


def test_who_may_write_the_spec_writes_no_status_and_the_other_way_round(
    server: Server, stored: Callable[[Object], Object]
) -> None:
    old = stored(as_document(C, campaign()))
    old = server.replace(old, as_document(C, campaign(topic="news")) | {"status": STARTED})
    assert (old["spec"]["topic"], old["status"], old["metadata"]["generation"]) == (
        "news",
        {"observedGeneration": -1},
        2,
    )
    old = server.replace(old, as_document(C, campaign(topic="other")) | {"status": STARTED}, part="status")
    assert (old["spec"]["topic"], old["status"], old["metadata"]["generation"]) == ("news", STARTED, 2)


def test_counts_that_move_along_with_the_content_open_nothing(
    server: Server, stored: Callable[[Object], Object]
) -> None:
    old = stored(as_document(C, campaign()))
    old = server.replace(old, old | {"status": COUNTED}, part="status")
    moved = COUNTED | {"deliveries": {"total": 9, "pending": 1}}
    causes = causes_of_refusal(server, old, as_document(C, campaign(**CONTENT)) | {"status": moved})
    assert {field for field, _ in causes} == {f"spec.{name}" for name in CONTENT}
    assert [said for _, said in causes if "is frozen once the campaign has started" not in said] == []


@pytest.mark.parametrize("status", [COUNTED | {"deliveries": {"pending": 1}}, COUNTED, STARTED, {}])
def test_counts_may_move_stay_or_go(server: Server, stored: Callable[[Object], Object], status: Object) -> None:
    old = stored(as_document(C, campaign()))
    old = server.replace(old, old | {"status": COUNTED}, part="status")
    written = server.replace(old, old | {"status": status}, part="status")
    assert written["status"].get("deliveries", {}).get("pending") == status.get("deliveries", {}).get("pending")


def test_a_campaign_of_a_megabyte_can_still_be_judged(server: Server, stored: Callable[[Object], Object]) -> None:
    old = stored(as_document(C, LARGE))
    assert len(json.dumps(old)) > 1_000_000
    old = server.replace(old, old | {"status": STARTED}, part="status")
    old = server.replace(old, old | {"spec": old["spec"] | {"suspend": True}})
    (first, *others) = old["spec"]["recipients"]["inline"]
    changed = {"inline": [*others, first]}
    with pytest.raises(Refused, match=r"spec\.recipients is frozen"):
        server.replace(old, old | {"spec": old["spec"] | {"recipients": changed}})


def test_a_campaign_that_is_too_large_to_be_stored_is_refused(stored: Callable[[Object], Object]) -> None:
    story = {"story": "x" * 40_000}
    people = [{"id": f"p{no}", "email": f"p{no}@example.com", "variables": story} for no in range(50)]
    with pytest.raises(Refused, match="too large"):
        stored(as_document(C, campaign(recipients={"inline": people})))


def test_a_racing_edit_is_refused(server: Server, stored: Callable[[Object], Object]) -> None:
    seen = stored(as_document(C, campaign()))
    server.replace(seen, as_document(C, campaign(topic="news")))
    with pytest.raises(Refused) as refused:
        server.replace(seen, seen | {"status": STARTED}, part="status")
    assert refused.value.status == 409


@pytest.mark.parametrize(("kind", "body", "status"), STATUSES, ids=[kind.__name__ for kind, *_ in STATUSES])
def test_a_status_with_every_field_comes_back_as_it_was_written(
    server: Server, stored: Callable[[Object], Object], kind: type[SpecModel], body: Object, status: SpecModel
) -> None:
    old = stored(as_document(kind, body))
    written = server.replace(old, old | {"status": status.to_wire()}, part="status")
    assert written["status"] == status.to_wire()
    assert type(status).from_wire(written["status"]) == status
    assert [name for name in type(status).model_fields if getattr(status, name) in (None, ())] == []


def test_a_status_with_an_unknown_field_is_refused(server: Server, stored: Callable[[Object], Object]) -> None:
    old = stored(as_document(C, campaign()))
    with pytest.raises(Refused, match=r"status\.deliveries\.snet"):
        server.replace(old, old | {"status": {"deliveries": {"snet": 1}}}, part="status")

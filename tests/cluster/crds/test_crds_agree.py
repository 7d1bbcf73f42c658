"""The API server and the models agree on every document: what is taken, what is refused, and what is filled in."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tests.cluster.crds.server import Server
from tests.spec_cases.bodies import CP, P
from tests.spec_cases.complete import COMPLETE
from tests.spec_cases.documents import as_document, sound, unsound
from tests.spec_cases.rules import CASES
from tests.spec_cases.wrong import wrong_ones

from sendonce_store.spec import RULES, SpecModel
from sendonce_store.spec.crd import RESOURCES, definition

Object = dict[str, Any]
Case = tuple[str, type[SpecModel], Object]

ONLY_THE_MODEL_CAN_TELL = {"Asia/Tokio", "../../etc/passwd"}
"""A schema does not know the names of time zones. The operator says so."""


def is_judged_by_a_schema(document: Object) -> bool:
    schedule = str(document["spec"].get("schedule"))
    return not any(value in schedule for value in ONLY_THE_MODEL_CAN_TELL)


def ids(cases: list[Case]) -> list[str]:
    return [f"{kind.__name__}: {deed.strip()[:80]}" for deed, kind, _ in cases]


SOUND = list(sound())
UNSOUND = [case for case in unsound() if is_judged_by_a_schema(case[2])]
LEFT_TO_THE_MODEL = [case for case in unsound() if not is_judged_by_a_schema(case[2])]


@pytest.mark.parametrize(("deed", "kind", "document"), SOUND, ids=ids(SOUND))
def test_what_the_model_takes_is_taken_and_filled_in_alike(
    server: Server, deed: str, kind: type[SpecModel], document: Object
) -> None:
    stored = server.create(document, dry_run=True)
    assert kind.from_wire(stored | {"metadata": document["metadata"]}) == kind.from_wire(document)


@pytest.mark.parametrize(("deed", "kind", "document"), UNSOUND, ids=ids(UNSOUND))
def test_what_the_model_refuses_is_refused(server: Server, deed: str, kind: type[SpecModel], document: Object) -> None:
    with pytest.raises(ValidationError):
        kind.from_wire(document)
    assert server.refusal(document) is not None


@pytest.mark.parametrize(("deed", "kind", "document"), LEFT_TO_THE_MODEL, ids=ids(LEFT_TO_THE_MODEL))
def test_what_no_schema_can_tell_is_taken_and_refused_by_the_model(
    server: Server, deed: str, kind: type[SpecModel], document: Object
) -> None:
    with pytest.raises(ValidationError):
        kind.from_wire(document)
    server.create(document, dry_run=True)


def of_a_cluster(body: Object) -> Object:
    """Make a provider's body one of a cluster provider, which has the same rules."""
    return body | {"spec": body["spec"] | {"allowedNamespaces": {"from": "All"}}}


Breach = tuple[str, type[SpecModel], Object, str]
BREACHES: list[Breach] = [(name, kind, breaks, field) for name, kind, _, breaks, field in CASES]
BREACHES += [(name, CP, of_a_cluster(breaks), field) for name, kind, breaks, field in BREACHES if kind is P]
BROKEN = [
    (next(rule for rule in RULES[kind] if rule.name == name), kind, as_document(kind, breaks), field)
    for name, kind, breaks, field in BREACHES
]


@pytest.mark.parametrize(
    ("rule", "kind", "document", "field"), BROKEN, ids=[f"{k.__name__}: {r.name}-{f}" for r, k, _, f in BROKEN]
)
def test_what_breaks_a_rule_is_refused_with_the_words_of_the_model(
    server: Server, rule: Any, kind: type[SpecModel], document: Object, field: str
) -> None:
    refused = server.refusal(document)
    assert refused is not None
    said = {message: where for where, message in refused.causes}
    (message,) = [message for message in said if rule.sentence in message]
    assert field.startswith(said[message]), "the server names the same field, or what it is in"
    assert rule.field.rpartition(".")[2].removesuffix("[*]") in message or not rule.field


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_a_document_that_is_wrong_in_any_one_place_is_refused_by_both(server: Server, resource: Any) -> None:
    schema: Any = definition(resource)
    schema = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    bodies = [body for kind, body in COMPLETE if kind is resource.model]
    wrong = [one for body in bodies for one in wrong_ones(as_document(resource.model, body), schema)]
    taken = [(deed, *by) for deed, document in wrong if (by := takers(server, resource.model, document))]
    assert len(wrong) > 20
    assert taken == []


def takers(server: Server, kind: type[SpecModel], document: Object) -> list[str]:
    """Return who takes the document."""
    found = []
    try:
        kind.from_wire(document)
        found.append("model")
    except ValidationError:
        pass
    if server.refusal(document) is None:
        found.append("server")
    return found


@pytest.mark.parametrize(
    ("kind", "body"), COMPLETE, ids=[f"{kind.__name__}-{no}" for no, (kind, _) in enumerate(COMPLETE)]
)
def test_an_unknown_field_is_named(server: Server, kind: type[SpecModel], body: Object) -> None:
    document = as_document(kind, body | {"spec": body["spec"] | {"retries": 5}})
    refused = server.refusal(document)
    assert refused is not None
    assert 'unknown field "spec.retries"' in refused.message

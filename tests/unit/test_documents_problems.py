"""Bad input: every mistake is reported with its place, what is wrong, and what would be right."""

from __future__ import annotations

import re

import pytest
from tests.spec_cases.mistakes import CAMPAIGN, INSTEAD, MORE, PROVIDER, PROVIDERS

from sendonce_store.spec import SpecError, load_documents
from sendonce_store.spec.document_text import MAX_BYTES


def refusal(text: str | bytes) -> list[str]:
    with pytest.raises(SpecError) as refused:
        load_documents(text, "c.yaml")
    assert str(refused.value).splitlines() == [str(problem) for problem in refused.value.problems]
    return str(refused.value).splitlines()


@pytest.mark.parametrize(("more", "expected"), MORE)
def test_a_mistake_is_reported_with_its_line_field_and_remedy(more: str, expected: str) -> None:
    assert refusal(CAMPAIGN + more) == [expected]


@pytest.mark.parametrize(("old", "new", "expected"), INSTEAD)
def test_a_mistake_in_what_is_required_is_reported(old: str, new: str, expected: str | None) -> None:
    assert old in CAMPAIGN
    found = refusal(CAMPAIGN.replace(old, new))
    if expected is not None:
        assert found == [expected]


def test_a_misspelt_required_field_is_reported_as_both() -> None:
    assert refusal(CAMPAIGN.replace("recipients:", "recipents:")) == [
        "c.yaml:4: spec.recipients: is required",
        "c.yaml:6: unknown field spec.recipents; did you mean recipients?",
    ]


def test_an_unknown_kind_without_a_near_one_lists_the_known() -> None:
    (found,) = refusal("apiVersion: apps/v1\nkind: Gizmo\n")[1:]
    assert found == (
        "c.yaml:2: kind: unknown kind Gizmo; known: NotificationCampaign, NotificationProvider, "
        "ClusterNotificationProvider, NotificationAction, ConfigMap, Secret"
    )


@pytest.mark.parametrize(("spec", "expected"), PROVIDERS)
def test_a_mistake_in_a_provider_is_reported(spec: str, expected: str) -> None:
    assert refusal(f"{PROVIDER}spec: {spec}\n") == [f"c.yaml:4: {one}" for one in expected.split("|")]


def test_all_mistakes_of_all_documents_are_reported_together_in_their_order() -> None:
    campaign = CAMPAIGN.replace("Marketing", "Marketting").replace("smtp", "SMTP") + "  retry: {factor: 0, max: 1}\n"
    text = f"{campaign}---\na: [\n---\n{PROVIDER}spec: {{type: X}}\n---\n- a\n"
    found = [re.sub(": (must|unknown|is|a document).*", "", line) for line in refusal(text)]
    assert found == [
        "c.yaml:5: spec.category",
        "c.yaml:9: spec.messages[0].providerRef.name",
        "c.yaml:11: spec.retry.factor",
        "c.yaml:11",
        "c.yaml:13: document 2",
        "c.yaml:18: document 3: spec.type",
        "c.yaml:20: document 4",
    ]


def test_a_list_whose_entries_are_all_wrong_is_not_called_empty() -> None:
    found = refusal(CAMPAIGN.replace("channel: Email", "channel: 5"))
    assert [line for line in found if "at least" in line] == []
    assert len(found) == 1


def test_an_empty_list_is_refused() -> None:
    (found,) = refusal(CAMPAIGN[: CAMPAIGN.index("  messages:")] + "  messages: []\n")
    assert found == "c.yaml:7: spec.messages: must have at least 1 entry (has 0)"


def test_a_document_that_is_given_twice_is_refused() -> None:
    assert refusal(f"{CAMPAIGN}---\n{CAMPAIGN}") == [
        "c.yaml:14: document 2: metadata.name: NotificationCampaign spring is already in line 1; keep one",
    ]
    other = CAMPAIGN.replace("{name: spring}", "{name: spring, namespace: other}")
    assert len(load_documents(f"{CAMPAIGN}---\n{other}", "c.yaml")) == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: 1\nb: \xff\n", "c.yaml:2: is not UTF-8 (byte 0xFF); save the file as UTF-8"),
        ("a: 1\n\nb: \x00\n", "c.yaml:3: has the character U+0000, which YAML does not allow; remove it"),
        ("a: \ud800", "c.yaml:1: has the character U+D800, which YAML does not allow; remove it"),
        (
            "a" * (MAX_BYTES + 1),
            "c.yaml:1: is 16,777,217 bytes long; the limit is 16,777,216. Keep recipients in a file of their own",
        ),
        ("just text", "c.yaml:1: a document must be a mapping with apiVersion, kind, metadata and spec"),
    ],
    ids=["not UTF-8", "control character", "surrogate", "too large", "no mapping"],
)
def test_what_is_no_document_at_all_is_refused(content: str | bytes, expected: str) -> None:
    assert refusal(content) == [expected]


def test_a_long_value_is_not_repeated_in_the_message() -> None:
    url = "htps://bucket.example.com/r.csv?X-Signature=0123456789abcdef"
    text = CAMPAIGN.replace("configMapKeyRef: {name: r, key: r.csv}", f"http: {{url: '{url}'}}")
    (found,) = refusal(text)
    assert found == "c.yaml:6: spec.recipients.http.url: must be a URL that begins with http:// or https://"

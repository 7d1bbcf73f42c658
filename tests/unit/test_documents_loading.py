"""From text to models: what a file of documents gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from sendonce_store.spec import (
    Channel,
    ConfigMap,
    Document,
    NotificationCampaign,
    NotificationProvider,
    Secret,
    SpecError,
    load_documents,
)

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))

CAMPAIGN = """\
apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: spring}
spec:
  category: Marketing
  recipients: {configMapKeyRef: {name: r, key: r.csv}, format: CSV}
  messages:
  - channel: Email
    providerRef: {name: smtp}
    template: {from: a@example.com, subject: s, text: t}
"""


def one(text: str | bytes) -> Document:
    (document,) = load_documents(text, "x.yaml")
    return document


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_loads_as_it_stands(path: Path) -> None:
    assert load_documents(path.read_bytes(), path.name)


def test_there_are_examples_of_real_jobs() -> None:
    assert len(EXAMPLES) >= 9


def test_unquoted_quiet_hours_are_times_of_day() -> None:
    document = one(CAMPAIGN + "  schedule: {quietHours: {from: 22:00, to: 07:30}}\n")
    assert isinstance(document.resource, NotificationCampaign)
    schedule = document.resource.spec.schedule
    assert schedule is not None
    assert schedule.quiet_hours is not None
    assert (schedule.quiet_hours.from_, schedule.quiet_hours.to) == ("22:00", "07:30")


def test_an_unquoted_time_is_a_time() -> None:
    document = one(CAMPAIGN + "  schedule: {deadline: 2026-12-04T00:00:00Z}\n")
    assert isinstance(document.resource, NotificationCampaign)
    assert document.resource.to_wire()["spec"]["schedule"] == {"deadline": "2026-12-04T00:00:00Z"}  # type: ignore[index,call-overload]


def test_documents_keep_their_order_number_and_line() -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: r}\ndata: {r.csv: x}\n"
    text = f"# a campaign\n{CAMPAIGN}---\n---\n{config_map}"
    documents = load_documents(text, "x.yaml")
    assert [(d.source, d.number, d.line, d.resource.kind) for d in documents] == [
        ("x.yaml", 1, 2, "NotificationCampaign"),
        ("x.yaml", 2, 14, "ConfigMap"),
    ]


def test_an_empty_file_has_no_documents() -> None:
    assert load_documents("", "x.yaml") == load_documents("# nothing\n---\n", "x.yaml") == []


def test_bytes_with_a_byte_order_mark_are_read() -> None:
    assert one(b"\xef\xbb\xbf" + CAMPAIGN.encode()).line == 1
    json_text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "\\ud83d\\ude00"}}'
    resource = one(b"\xef\xbb\xbf" + json_text.encode()).resource
    assert isinstance(resource, ConfigMap)
    assert resource.data == {"k": "😀"}


def test_json_is_read_too() -> None:
    text = '{\n\t"apiVersion": "v1", "kind": "ConfigMap",\n\t"metadata": {"name": "a"}, "data": {"k": "v"}}'
    assert one(text).resource == ConfigMap.from_wire({"metadata": {"name": "a"}, "data": {"k": "v"}})


def test_an_object_without_a_namespace_gets_the_one_that_is_asked_for() -> None:
    assert one(CAMPAIGN).resource.metadata.namespace == "default"
    (document,) = load_documents(CAMPAIGN, "x.yaml", namespace="crm")
    assert document.resource.metadata.namespace == "crm"
    own = CAMPAIGN.replace("{name: spring}", "{name: spring, namespace: own}")
    assert load_documents(own, "x.yaml", namespace="crm")[0].resource.metadata.namespace == "own"


def test_a_cluster_provider_has_no_namespace() -> None:
    text = (
        "apiVersion: sendonce.dev/v1alpha1\nkind: ClusterNotificationProvider\nmetadata: {name: p}\n"
        "spec: {type: SMTP, smtp: {host: smtp.example.com}, allowedNamespaces: {from: All}}\n"
    )
    (document,) = load_documents(text, "x.yaml", namespace="crm")
    assert document.resource.metadata.namespace is None


def test_what_a_cluster_adds_to_an_object_is_tolerated() -> None:
    text = CAMPAIGN.replace(
        "{name: spring}",
        "\n  {name: spring, namespace: crm, uid: 1-2, resourceVersion: '5', generation: 3, labels: {a: b},"
        "\n   annotations: {sendonce.dev/ledger: x}, creationTimestamp: 2026-11-30T00:00:00Z, finalizers: "
        "[sendonce.dev/x],"
        "\n   managedFields: [{manager: kubectl, fieldsV1: {f:spec: {}}}], ownerReferences: [{kind: X, name: y}]}",
    )
    text += (
        "status:\n  observedGeneration: 3\n  startTime: 2026-11-30T00:00:00Z\n  deliveries: {total: 2, sent: 2}\n"
        "  rollout: {stage: Canary, canary: {total: 1, sent: 1, failed: 0}, since: 2026-11-30T00:00:00Z}\n"
        "  conditions: [{type: Ready, status: 'True', reason: Sending, lastTransitionTime: 2026-11-30T00:00:00Z}]\n"
    )
    document = one(text)
    assert isinstance(document.resource, NotificationCampaign)
    assert document.resource.metadata.generation == 3
    assert document.resource.status.deliveries is not None
    assert document.resource.status.deliveries.sent == 2


def test_an_object_without_a_status_has_none_observed() -> None:
    document = one(CAMPAIGN)
    assert isinstance(document.resource, NotificationCampaign)
    assert document.resource.status.observed_generation == -1


def test_inline_recipients_keep_their_variables_as_they_are() -> None:
    document = one(
        CAMPAIGN.replace(
            "{configMapKeyRef: {name: r, key: r.csv}, format: CSV}",
            "{inline: [{id: '7', email: a@example.com, locale: ja-JP, variables: {n: 1, list: [a, {b: null}]}}]}",
        ),
    )
    assert isinstance(document.resource, NotificationCampaign)
    assert document.resource.spec.recipients.inline is not None
    assert document.resource.spec.recipients.inline[0].variables == {"false": 1, "list": ["a", {"b": None}]}


def test_a_secret_gives_the_content_of_its_keys_and_string_data_comes_first() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: Opaque\n"
    text += "data:\n  a: aGVsbG8=\n  b: |\n    aGVs\n    bG8=\n"
    text += "stringData: {a: other}\n"
    resource = one(text).resource
    assert isinstance(resource, Secret)
    assert resource.files() == {"a": b"other", "b": b"hello"}


def test_a_config_map_gives_the_content_of_its_keys() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: あ}\nbinaryData: {b: aGVsbG8=}\n"
    resource = one(text).resource
    assert isinstance(resource, ConfigMap)
    assert resource.files() == {"a": "あ".encode(), "b": b"hello"}


def test_a_secret_does_not_show_its_values() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aGVsbG8=}\nstringData: {b: hunter2}\n"
    shown = repr(one(text))
    assert "hunter2" not in shown
    assert "aGVsbG8=" not in shown
    with pytest.raises(SpecError) as refused:
        load_documents(text.replace("{name: s}", "{name: s, x: 1}").replace("aGVsbG8=", "hunter3"), "x.yaml")
    assert "hunter" not in str(refused.value)
    assert "data.a: is not valid base64" in str(refused.value)


def test_a_later_check_can_name_the_line_of_a_field() -> None:
    problem = one(CAMPAIGN).problem(("spec", "messages", 0, "template", "text"), "does not compile")
    assert str(problem) == "x.yaml:10: spec.messages[0].template.text: does not compile"


def test_a_named_provider_is_accepted() -> None:
    text = "apiVersion: sendonce.dev/v1alpha1\nkind: NotificationProvider\nmetadata: {name: t}\n"
    resource = one(
        text + f"spec: {{type: Twilio, credentialsSecretRef: {{name: t}}, twilio: {{accountSID: AC{'0' * 32}}}}}\n"
    ).resource
    assert isinstance(resource, NotificationProvider)


def test_every_channel_can_be_named() -> None:
    for channel in Channel:
        one(CAMPAIGN.replace("Email", channel.value))


@pytest.mark.parametrize("value", ["1234", "true", "[7351]"])
def test_a_secret_does_not_show_a_value_of_the_wrong_type(value: str) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{pin: {value}}}\n"
    with pytest.raises(SpecError) as refused:
        load_documents(text, "x.yaml")
    assert "stringData.pin: must be a string" in str(refused.value)
    assert value.strip("[]") not in str(refused.value)


def test_base64_with_other_characters_in_it_is_refused() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aGVs!bG8=}\n"
    with pytest.raises(SpecError, match=r"data\.a: is not valid base64"):
        load_documents(text, "x.yaml")

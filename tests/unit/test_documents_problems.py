"""Bad input: every mistake is reported with its place, what is wrong, and what would be right."""

from __future__ import annotations

import re

import pytest

from sendonce_store.spec import SpecError, load_documents
from sendonce_store.spec.document_text import MAX_BYTES

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
PROVIDER = "apiVersion: sendonce.dev/v1alpha1\nkind: NotificationProvider\nmetadata: {name: p}\n"


def refusal(text: str | bytes) -> list[str]:
    with pytest.raises(SpecError) as refused:
        load_documents(text, "c.yaml")
    assert str(refused.value).splitlines() == [str(problem) for problem in refused.value.problems]
    return str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("  retry: {factor: 0}", "c.yaml:11: spec.retry.factor: must be at least 1 (got 0)"),
        ("  retry:\n    maxAttempts: 51", "c.yaml:12: spec.retry.maxAttempts: must be at most 50 (got 51)"),
        (
            '  retry: {factor: "4"}',
            'c.yaml:11: spec.retry.factor: must be an integer (got "4"); remove the quotes',
        ),
        ("  retry: {factor: 1.5}", "c.yaml:11: spec.retry.factor: must be an integer (got 1.5)"),
        ("  retry: {factor: [4]}", "c.yaml:11: spec.retry.factor: must be an integer (got a list)"),
        ("  retry: {factor: yes}", "c.yaml:11: spec.retry.factor: must be an integer (got true)"),
        ("  retry: {factor: four}", 'c.yaml:11: spec.retry.factor: must be an integer (got "four")'),
        ('  suspend: "true"', 'c.yaml:11: spec.suspend: must be true or false (got "true"); remove the quotes'),
        ("  suspend: 1", "c.yaml:11: spec.suspend: must be true or false (got 1)"),
        ("  topic: 5", "c.yaml:11: spec.topic: must be a string (got 5); put it in quotes"),
        ("  topic: off", "c.yaml:11: spec.topic: must be a string (got false); put it in quotes"),
        ("  topic: {a: b}", "c.yaml:11: spec.topic: must be a string (got a mapping)"),
        ("  retry: 5", "c.yaml:11: spec.retry: must be a mapping (got 5)"),
        ("  workers: {tolerations: {}}", "c.yaml:11: spec.workers.tolerations: must be a list (got a mapping)"),
        ("  workers: {podLabels: []}", "c.yaml:11: spec.workers.podLabels: must be a mapping (got a list)"),
        (
            "  priority: high",
            'c.yaml:11: spec.priority: must be one of Low, Normal, High (got "high"); did you mean High?',
        ),
        ("  priority: 3", "c.yaml:11: spec.priority: must be one of Low, Normal, High (got 3)"),
        (
            "  topic: a b",
            (
                "c.yaml:11: spec.topic: must consist of letters, digits, '-', '_' and '.', beginning and ending "
                "with a letter or "
                'digit (got "a b")'
            ),
        ),
        (f"  topic: {'a' * 64}", "c.yaml:11: spec.topic: must have at most 63 characters (has 64)"),
        ('  topic: ""', "c.yaml:11: spec.topic: must have at least 1 character (has 0)"),
        (
            "  workers: {resources: {limits: {cpu: 0.5}}}",
            'c.yaml:11: spec.workers.resources.limits.cpu: must be a quantity such as "500m", "256Mi" or 2 (got 0.5)',
        ),
        (
            '  workers: {podLabels: {"a.b/c": 5}}',
            'c.yaml:11: spec.workers.podLabels["a.b/c"]: must be a string (got 5); put it in quotes',
        ),
        ("  topik: x", "c.yaml:11: unknown field spec.topik; did you mean topic?"),
        ("  send_key: x", "c.yaml:11: unknown field spec.send_key; did you mean sendKey?"),
        ("  quietHours: {}", "c.yaml:11: unknown field spec.quietHours; it belongs in spec.schedule"),
        (
            "  rollout: {xyz: 1}",
            "c.yaml:11: unknown field spec.rollout.xyz; known here: canary",
        ),
        (
            "  schedule: {quietHours: {from: 21:00, to: 9:00}}",
            'c.yaml:11: spec.schedule.quietHours.to: must be a time of day from "00:00" to "23:59" (got "9:00")',
        ),
        (
            "  schedule: {quietHours: {from: 21:00, to: 09:00, defaultTimezone: Asia/Tokio}}",
            (
                "c.yaml:11: spec.schedule.quietHours.defaultTimezone: is not a known time zone; did you mean "
                "Asia/Tokyo? "
                '(got "Asia/Tokio")'
            ),
        ),
        (
            "  schedule: {quietHours: {from: 21:00, to: 09:00, defaultTimezone: ../../etc/passwd}}",
            (
                "c.yaml:11: spec.schedule.quietHours.defaultTimezone: is not a known time zone; use an IANA "
                "name such as "
                'Asia/Tokyo (got "../../etc/passwd")'
            ),
        ),
        (
            "  schedule: {deadline: 2026-12-01T00:00:00}",
            (
                "c.yaml:11: spec.schedule.deadline: has no offset from UTC; end it with Z or an offset like +09:00 "
                '(got "2026-12-01T00:00:00")'
            ),
        ),
        (
            "  schedule: {deadline: 2026-12-01}",
            (
                "c.yaml:11: spec.schedule.deadline: must be a date and time with offset, such as "
                "2026-12-04T09:00:00+09:00 "
                '(got "2026-12-01")'
            ),
        ),
        (
            "  schedule: {deadline: 2026-02-30T00:00:00Z}",
            (
                "c.yaml:11: spec.schedule.deadline: is no real date and time: day is out of range for month "
                '(got "2026-02-30T00:00:00Z")'
            ),
        ),
        (
            "  schedule: {deadline: 0001-01-01T00:00:00+09:00}",
            (
                "c.yaml:11: spec.schedule.deadline: is outside the years 1 to 9999 in UTC "
                '(got "0001-01-01T00:00:00+09:00")'
            ),
        ),
        (
            "  schedule: {startAt: 2026-12-02T00:00:00Z, deadline: 2026-12-01T00:00:00Z}",
            "c.yaml:11: spec.schedule.deadline: must be later than startAt",
        ),
        ("  category: Transactional", "c.yaml:11: spec.category: is given twice, first in line 5; keep one"),
        ("status: {deliveries: {snet: 1}}", "c.yaml:11: unknown field status.deliveries.snet; did you mean sent?"),
    ],
)
def test_a_mistake_is_reported_with_its_line_field_and_remedy(more: str, expected: str) -> None:
    assert refusal(CAMPAIGN + more) == [expected]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "  recipients: {configMapKeyRef: {name: r, key: r.csv}, format: CSV}\n",
            "",
            "c.yaml:4: spec.recipients: is required",
        ),
        (
            "format: CSV}",
            "format: CSV, secretKeyRef: {name: r, key: k}}",
            (
                "c.yaml:6: spec.recipients.secretKeyRef: exactly one source is needed: keep one of inline, "
                "configMapKeyRef, "
                "secretKeyRef, http, postgres"
            ),
        ),
        (
            "configMapKeyRef: {name: r, key: r.csv}, ",
            "",
            (
                "c.yaml:6: spec.recipients: exactly one source is needed: keep one of inline, configMapKeyRef, "
                "secretKeyRef, "
                "http, postgres"
            ),
        ),
        (
            "key: r.csv",
            "key: ../../etc/passwd",
            (
                "c.yaml:6: spec.recipients.configMapKeyRef.key: must be a key of a ConfigMap or Secret: "
                "letters, digits, '-', "
                "'_' and '.', not beginning with '..' (got \"../../etc/passwd\")"
            ),
        ),
        ("recipients:", "recipents:", None),
        ("  - channel: Email\n    p", "    p", "c.yaml:7: spec.messages: must be a list (got a mapping)"),
        ("{name: smtp}", "smtp", 'c.yaml:9: spec.messages[0].providerRef: must be a mapping (got "smtp")'),
        (
            "channel: Email",
            "channel: Mail",
            (
                "c.yaml:8: spec.messages[0].channel: must be one of Email, SMS, Line, Push, Slack, Telegram, "
                "WebPush, Webhook "
                '(got "Mail"); did you mean Email?'
            ),
        ),
        ("subject: s, ", "", None),
        (
            "metadata: {name: spring}",
            "metadata: {name: Spring}",
            (
                "c.yaml:3: metadata.name: must be a DNS name: lower-case letters, digits, '-' and '.', each "
                "part beginning and "
                'ending with a letter or digit (got "Spring")'
            ),
        ),
        ("metadata: {name: spring}\n", "", "c.yaml:1: metadata: is required"),
        ("metadata: {name: spring}\n", "metadata:\n", "c.yaml:3: metadata: is required"),
        (
            "NotificationCampaign",
            "NotificationCampain",
            "c.yaml:2: kind: unknown kind NotificationCampain; did you mean NotificationCampaign?",
        ),
        (
            "sendonce.dev/v1alpha1",
            "sendonce.dev/v1",
            "c.yaml:1: apiVersion: unknown apiVersion sendonce.dev/v1; use sendonce.dev/v1alpha1",
        ),
        ("apiVersion: sendonce.dev/v1alpha1\n", "", "c.yaml:1: apiVersion: is required: sendonce.dev/v1alpha1"),
    ],
)
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


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{type: smtp}", 'spec.type: must be one of HTTP, SMTP, Twilio (got "smtp"); did you mean SMTP?'),
        (
            "{type: SMTP, smtp: {host: 'smtp.example.com:25'}}",
            'spec.smtp.host: must be the name or address of a host, without port (got "smtp.example.com:25")',
        ),
        ("{type: SMTP, smtp: {host: a, port: 70000}}", "spec.smtp.port: must be at most 65,535 (got 70000)"),
        (
            "{type: SMTP, smtp: {host: a, tls: true}}",
            "spec.smtp.tls: must be one of None, StartTLS, TLS (got true)",
        ),
        (
            "{type: HTTP, http: {url: 'ftp://example.com'}}",
            'spec.http.url: must be a URL that begins with http:// or https:// (got "ftp://example.com")',
        ),
        (
            "{type: HTTP, http: {url: 'https://example.com', messageIdPath: 'a..b'}}",
            (
                "spec.http.messageIdPath: must be a path such as data.id or messages.0.id, or a header such as "
                'header:X-Message-Id (got "a..b")'
            ),
        ),
        (
            "{type: HTTP, http: {url: 'https://example.com', headers: {'X Y': z}}}",
            'spec.http.headers["X Y"]: must be a header name, such as X-Request-Id: no spaces, no colon (got "X Y")',
        ),
        (
            "{type: HTTP, http: {url: 'https://example.com', errorRules: [{status: 42, as: Transient}]}}",
            "spec.http.errorRules[0].status: must be at least 100 (got 42)",
        ),
        (
            "{type: Twilio, twilio: {accountSid: AC1}}",
            "spec.twilio.accountSID: is required|unknown field spec.twilio.accountSid; did you mean accountSID?",
        ),
        (
            "{type: Twilio, twilio: {accountSID: AC1}}",
            'spec.twilio.accountSID: must be AC and 32 hex digits (got "AC1")',
        ),
        (
            "{type: SMTP, smtp: {host: a}, limits: [{messages: 0, periodSeconds: 1}]}",
            "spec.limits[0].messages: must be at least 1 (got 0)",
        ),
        (
            "{type: SMTP, smtp: {host: a}, allowedNamespaces: {from: All}}",
            (
                "unknown field spec.allowedNamespaces; known here: type, suspend, http, smtp, twilio, "
                "credentialsSecretRef, "
                "limits, maxInFlight, timeoutSeconds"
            ),
        ),
    ],
)
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

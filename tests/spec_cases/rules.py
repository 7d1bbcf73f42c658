"""Each rule over several fields: a document that keeps it, one that breaks it, and where that is said."""

from __future__ import annotations

from typing import Any

from tests.spec_cases.bodies import (
    CP,
    EMAIL,
    FILE,
    HTTP,
    LINE,
    LOGO,
    QUIET,
    SMS,
    SMTP,
    A,
    C,
    P,
    action,
    allowed,
    campaign,
    email,
    fallback,
    http,
    inline,
    provider,
    requirement,
)

from sendonce_store.spec import SpecModel

_SECRET = {"credentialsSecretRef": {"name": "s"}}
SLACK = provider(type="Slack", **_SECRET)
SLACK_WITH_LINE = provider(type="Slack", line={}, **_SECRET)
MAILGUN = provider(type="Mailgun", mailgun={"domain": "mg.example.com"}, **_SECRET)
MAILGUN_ALONE = provider(type="Mailgun", **_SECRET)

# rule, kind, a document that keeps it, one that breaks it, the field that is named
CASES: list[tuple[str, type[SpecModel], dict[str, Any], dict[str, Any], str]] = [
    ("name-is-short", C, campaign("a" * 52), campaign("a" * 53), "metadata.name"),
    ("name-is-short", C, campaign("a-b"), campaign("a.b"), "metadata.name"),
    ("one-source", C, campaign(), campaign(recipients={"format": "CSV"}), "spec.recipients"),
    (
        "one-source",
        C,
        inline({"email": "a@example.com"}),
        campaign(recipients=FILE | {"inline": [{"email": "a@example.com"}]}),
        "spec.recipients.configMapKeyRef",
    ),
    (
        "files-have-a-format",
        C,
        campaign(recipients={"postgres": {"dsnSecretKeyRef": {"name": "d", "key": "dsn"}, "query": "select 1"}}),
        campaign(recipients={"secretKeyRef": {"name": "r", "key": "r.csv"}}),
        "spec.recipients.format",
    ),
    (
        "files-have-a-format",
        C,
        campaign(recipients={"http": {"url": "https://example.com/r"}, "format": "NDJSON"}),
        campaign(recipients={"http": {"url": "https://example.com/r"}}),
        "spec.recipients.format",
    ),
    (
        "files-have-a-format",
        C,
        campaign(recipients={"s3": {"bucket": "lists", "key": "r.csv"}, "format": "CSV"}),
        campaign(recipients={"s3": {"bucket": "lists", "key": "r.csv"}}),
        "spec.recipients.format",
    ),
    (
        "one-source",
        C,
        campaign(recipients={"s3": {"bucket": "lists", "key": "r.csv"}, "format": "CSV"}),
        campaign(
            recipients={
                "s3": {"bucket": "lists", "key": "r.csv"},
                "format": "CSV",
                "http": {"url": "https://a.example.com"},
            }
        ),
        "spec.recipients.s3",
    ),
    (
        "inline-ids-are-unique",
        C,
        inline({"email": "a@example.com"}, {"email": "b@example.com"}, {"id": "1", "email": "c@example.com"}),
        inline({"id": "1", "email": "a@example.com"}, {"id": "1", "email": "b@example.com"}),
        "spec.recipients.inline[1].id",
    ),
    (
        "a-stream-has-no-count",
        C,
        campaign(recipients={"stream": {}}),
        campaign(recipients={"stream": {}, "maxRejectedPercent": 5}),
        "spec.recipients.stream",
    ),
    *(
        (
            "a-stream-has-no-count",
            C,
            campaign(recipients={"stream": {}}),
            campaign(recipients={"stream": {}} | more),
            "spec.recipients.stream",
        )
        for more in ({"format": "CSV"}, {"compression": "Gzip"}, {"expected": {"min": 1}})
    ),
    (
        "transactional-has-no-cap",
        C,
        campaign(frequencyCap={"messages": 3, "periodDays": 7}),
        campaign(category="Transactional", frequencyCap={"messages": 3, "periodDays": 7}),
        "spec.frequencyCap",
    ),
    ("close-is-for-a-stream", C, campaign(recipients={"stream": {}}, close=True), campaign(close=True), "spec.close"),
    (
        "a-stream-has-no-canary",
        C,
        campaign(recipients={"stream": {}}, rollout={}),
        campaign(recipients={"stream": {}}, rollout={"canary": {}}),
        "spec.rollout",
    ),
    (
        "count-range",
        C,
        campaign(recipients=FILE | {"expected": {"min": 5, "max": 5}}),
        campaign(recipients=FILE | {"expected": {"min": 6, "max": 5}}),
        "spec.recipients.expected.min",
    ),
    (
        "one-url",
        C,
        campaign(recipients={"http": {"urlSecretKeyRef": {"name": "u", "key": "url"}}, "format": "CSV"}),
        campaign(recipients={"http": {}, "format": "CSV"}),
        "spec.recipients.http",
    ),
    (
        "one-url",
        C,
        campaign(recipients={"http": {"url": "https://example.com/r"}, "format": "CSV"}),
        campaign(
            recipients={
                "http": {"url": "https://example.com/r", "urlSecretKeyRef": {"name": "u", "key": "url"}},
                "format": "CSV",
            },
        ),
        "spec.recipients.http.url",
    ),
    (
        "one-message-per-channel",
        C,
        campaign(messages=[EMAIL, LINE]),
        campaign(messages=[EMAIL, LINE, EMAIL]),
        "spec.messages[2].channel",
    ),
    (
        "fallback-follows-a-first-message",
        C,
        fallback("Line", LINE),
        fallback("SMS", LINE),
        "spec.messages[0].after.channel",
    ),
    ("fallback-follows-a-first-message", C, campaign(), fallback("Email"), "spec.messages[0].after.channel"),
    (
        "fallback-follows-a-first-message",
        C,
        fallback("SMS", LINE | {"after": {"channel": "SMS"}}, SMS),
        fallback("Line", LINE | {"after": {"channel": "SMS"}}, SMS),
        "spec.messages[0].after.channel",
    ),
    (
        "html-only-in-email",
        C,
        email(subject="s", html="<p>t</p>"),
        campaign(messages=[LINE | {"template": {"html": "<p>t</p>"}}]),
        "spec.messages[0].template.html",
    ),
    (
        "variants-are-text-but-in-email",
        C,
        email(subject="s", text="t", variants=[{"locale": "pt", "html": "<p>t</p>"}], attachments=[LOGO]),
        campaign(
            messages=[LINE | {"template": {"text": "t", "variants": [{"locale": "pt", "mjml": "<mjml></mjml>"}]}}]
        ),
        "spec.messages[0].template.variants[0].mjml",
    ),
    (
        "attachments-only-in-email",
        C,
        campaign(messages=[LINE | {"template": {"text": "t", "variants": [{"locale": "pt", "text": "t"}]}}]),
        campaign(messages=[LINE | {"template": {"text": "t", "attachments": [LOGO]}}]),
        "spec.messages[0].template.attachments",
    ),
    (
        "mjml-only-in-email",
        C,
        email(subject="s", mjml="<mjml></mjml>"),
        campaign(messages=[LINE | {"template": {"mjml": "<mjml></mjml>"}}]),
        "spec.messages[0].template.mjml",
    ),
    (
        "html-or-mjml",
        C,
        email(subject="s", html="<p>t</p>", variants=[{"locale": "pt", "mjml": "<mjml></mjml>"}]),
        email(subject="s", html="<p>t</p>", mjml="<mjml></mjml>"),
        "spec.messages[0].template.mjml",
    ),
    (
        "variant-has-html-or-mjml",
        C,
        email(subject="s", mjml="<mjml></mjml>"),
        email(subject="s", text="t", variants=[{"locale": "pt", "html": "<p>t</p>", "mjml": "<mjml></mjml>"}]),
        "spec.messages[0].template.variants[0].mjml",
    ),
    (
        "variants-differ-in-locale",
        C,
        email(subject="s", text="t", variants=[{"locale": "pt"}, {"locale": "pt-BR"}]),
        email(subject="s", text="t", variants=[{"locale": "pt-BR"}, {"locale": "PT-br"}]),
        "spec.messages[0].template.variants[1].locale",
    ),
    (
        "attachment-has-one-file",
        C,
        email(subject="s", text="t", attachments=[LOGO]),
        email(subject="s", text="t", attachments=[{"name": "logo.png"}]),
        "spec.messages[0].template.attachments[0]",
    ),
    (
        "attachment-has-one-file",
        C,
        email(subject="s", text="t", attachments=[LOGO]),
        email(
            subject="s", text="t", attachments=[LOGO | {"secretKeyRef": {"name": "s", "key": "k"}, "sha256": "0" * 64}]
        ),
        "spec.messages[0].template.attachments[0]",
    ),
    (
        "secret-file-has-a-sum",
        C,
        email(
            subject="s",
            text="t",
            attachments=[{"name": "a", "secretKeyRef": {"name": "s", "key": "k"}, "sha256": "0" * 64}],
        ),
        email(subject="s", text="t", attachments=[{"name": "a", "secretKeyRef": {"name": "s", "key": "k"}}]),
        "spec.messages[0].template.attachments[0].sha256",
    ),
    ("email-has-a-subject", C, campaign(messages=[LINE]), email(text="t"), "spec.messages[0].template.subject"),
    ("email-has-a-body", C, email(configMapRef={"name": "t"}), email(subject="s"), "spec.messages[0].template.text"),
    (
        "start-before-deadline",
        C,
        campaign(schedule={"startAt": "2026-12-01T09:00:00+09:00", "deadline": "2026-12-01T00:00:01Z"}),
        campaign(schedule={"startAt": "2026-12-01T09:00:00+09:00", "deadline": "2026-12-01T00:00:00Z"}),
        "spec.schedule.deadline",
    ),
    (
        "quiet-hours-have-a-length",
        C,
        campaign(schedule={"quietHours": QUIET}),
        campaign(schedule={"quietHours": QUIET | {"to": "21:00"}}),
        "spec.schedule.quietHours.to",
    ),
    (
        "use-default-needs-a-zone",
        C,
        campaign(
            schedule={
                "quietHours": QUIET | {"unknownTimezonePolicy": "UseDefault", "defaultTimezone": "Asia/Tokyo"},
            },
        ),
        campaign(schedule={"quietHours": QUIET | {"unknownTimezonePolicy": "UseDefault"}}),
        "spec.schedule.quietHours.defaultTimezone",
    ),
    (
        "first-delay-within-the-longest",
        C,
        campaign(retry={"initialDelaySeconds": 60, "maxDelaySeconds": 60}),
        campaign(retry={"initialDelaySeconds": 61, "maxDelaySeconds": 60}),
        "spec.retry.initialDelaySeconds",
    ),
    (
        "transactional-has-no-quiet-hours",
        C,
        campaign(category="Transactional", schedule={"deadline": "2026-12-01T00:00:00Z"}),
        campaign(category="Transactional", schedule={"quietHours": QUIET}),
        "spec.schedule.quietHours",
    ),
    (
        "inline-recipients-have-an-address",
        C,
        inline({"phone": "+15005550006"}, {"email": "a@example.com"}, messages=[EMAIL, SMS]),
        inline({"email": "a@example.com"}, {"phone": "+15005550006"}),
        "spec.recipients.inline[1]",
    ),
    ("only-the-block-of-the-type", P, provider(type="SMTP", smtp=SMTP), provider(type="SMTP"), "spec.smtp"),
    ("only-the-block-of-the-type", P, http(), provider(type="HTTP", http=HTTP, smtp=SMTP), "spec.smtp"),
    ("only-the-block-of-the-type", P, SLACK, SLACK_WITH_LINE, "spec.line"),
    ("only-the-block-of-the-type", P, MAILGUN, MAILGUN_ALONE, "spec.mailgun"),
    ("named-types-have-a-secret", P, SLACK, provider(type="Slack"), "spec.credentialsSecretRef"),
    (
        "key-header-and-window",
        P,
        http(idempotencyKeyHeader="Idempotency-Key", keyWindowSeconds=86400),
        http(idempotencyKeyHeader="Idempotency-Key"),
        "spec.http.keyWindowSeconds",
    ),
    ("key-header-and-window", P, http(), http(keyWindowSeconds=86400), "spec.http.idempotencyKeyHeader"),
    (
        "error-rule-matches-something",
        P,
        http(errorRules=[{"status": 409, "as": "AlreadyAccepted"}, {"code": "bad", "as": "Permanent"}]),
        http(errorRules=[{"status": 409, "as": "AlreadyAccepted"}, {"as": "Permanent"}]),
        "spec.http.errorRules[1]",
    ),
    (
        "selector-goes-with-its-kind",
        CP,
        allowed(**{"from": "Selector"}, selector={"matchLabels": {"a": "b"}}),
        allowed(**{"from": "Selector"}),
        "spec.allowedNamespaces.selector",
    ),
    (
        "selector-goes-with-its-kind",
        CP,
        allowed(**{"from": "All"}),
        allowed(**{"from": "All"}, selector={}),
        "spec.allowedNamespaces.selector",
    ),
    (
        "values-go-with-their-operator",
        CP,
        requirement(operator="In", values=["a"]),
        requirement(operator="NotIn"),
        "spec.allowedNamespaces.selector.matchExpressions[0].values",
    ),
    (
        "values-go-with-their-operator",
        CP,
        requirement(operator="Exists"),
        requirement(operator="DoesNotExist", values=["a"]),
        "spec.allowedNamespaces.selector.matchExpressions[0].values",
    ),
    (
        "retry-takes-what-was-not-sent",
        A,
        action(type="Retry", deliveries={"states": ["Failed", "Expired", "Cancelled", "Suppressed"]}),
        action(type="Retry", deliveries={"states": ["Failed", "Uncertain"]}),
        "spec.deliveries.states[1]",
    ),
    (
        "resolve-takes-the-uncertain",
        A,
        action(type="Resolve", resolveAs="Sent", deliveries={"states": ["Uncertain"]}),
        action(type="Resolve", resolveAs="Sent", deliveries={"states": ["Failed"]}),
        "spec.deliveries.states[0]",
    ),
    ("resolve-says-as-what", A, action(type="Resolve", resolveAs="Resend"), action(type="Resolve"), "spec.resolveAs"),
    ("resolve-says-as-what", A, action(type="Retry"), action(type="Retry", resolveAs="Sent"), "spec.resolveAs"),
    (
        "deliveries-only-where-used",
        A,
        action(type="Promote"),
        action(type="Promote", deliveries={"channels": ["Email"]}),
        "spec.deliveries",
    ),
    (
        "suppress-says-whom",
        A,
        action(type="Suppress", deliveries={"recipients": ["ada"]}),
        action(type="Suppress", deliveries={"channels": ["Email"], "recipients": []}),
        "spec.deliveries",
    ),
    (
        "suppress-says-whom",
        A,
        action(type="Unsuppress", deliveries={"states": ["Failed"]}),
        action(type="Unsuppress"),
        "spec.deliveries",
    ),
]

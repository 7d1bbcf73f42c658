"""Documents with one mistake each, and what is said of it."""

from __future__ import annotations

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

# what is added to CAMPAIGN, what is said
MORE: list[tuple[str, str]] = [
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
        "  schedule: {deadline: 2026-12-01T00:00:00+25:00}",
        (
            "c.yaml:11: spec.schedule.deadline: must be a date and time with offset, such as "
            "2026-12-04T09:00:00+09:00 "
            '(got "2026-12-01T00:00:00+25:00")'
        ),
    ),
    (
        "  schedule: {deadline: 2026-12-01T00:00:00+09:60}",
        (
            "c.yaml:11: spec.schedule.deadline: must be a date and time with offset, such as "
            "2026-12-04T09:00:00+09:00 "
            '(got "2026-12-01T00:00:00+09:60")'
        ),
    ),
    (
        "  schedule: {deadline: 0001-01-01T00:00:00+09:00}",
        ('c.yaml:11: spec.schedule.deadline: is outside the years 1 to 9999 in UTC (got "0001-01-01T00:00:00+09:00")'),
    ),
    (
        "  schedule: {startAt: 2026-12-02T00:00:00Z, deadline: 2026-12-01T00:00:00Z}",
        "c.yaml:11: spec.schedule.deadline: must be later than startAt",
    ),
    ("  category: Transactional", "c.yaml:11: spec.category: is given twice, first in line 5; keep one"),
    ("status: {deliveries: {snet: 1}}", "c.yaml:11: unknown field status.deliveries.snet; did you mean sent?"),
]
# what of CAMPAIGN is replaced, by what, what is said
INSTEAD: list[tuple[str, str, str | None]] = [
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
            "secretKeyRef, http, s3, postgres, mysql, stream"
        ),
    ),
    (
        "configMapKeyRef: {name: r, key: r.csv}, ",
        "",
        (
            "c.yaml:6: spec.recipients: exactly one source is needed: keep one of inline, configMapKeyRef, "
            "secretKeyRef, "
            "http, s3, postgres, mysql, stream"
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
]
# the spec of PROVIDER, what is said
PROVIDERS: list[tuple[str, str]] = [
    (
        "{type: smtp}",
        (
            "spec.type: must be one of HTTP, SMTP, Twilio, SES, SendGrid, Mailgun, Postmark, Resend, Line, Slack, "
            'Telegram, Vonage, FCM, WebPush, StandardWebhooks, Apprise (got "smtp"); did you mean SMTP?'
        ),
    ),
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
        "{type: Slack}",
        "spec.credentialsSecretRef: is required for this type: name a Secret with the keys that the type's block says",
    ),
    (
        "{type: SES, credentialsSecretRef: {name: s}, ses: {region: europe}}",
        'spec.ses.region: must be a region, such as eu-west-1 (got "europe")',
    ),
    (
        "{type: Line, credentialsSecretRef: {name: s}, line: {baseURL: 'http://api.example.com'}}",
        (
            "spec.line.baseURL: must be a URL that begins with https://, without query; http:// is for this machine "
            'itself only (got "http://api.example.com")'
        ),
    ),
    (
        "{type: WebPush, credentialsSecretRef: {name: s}, webPush: {subject: push@example.com}}",
        (
            "spec.webPush.subject: must be mailto: and an address, or a URL that begins with https:// "
            '(got "push@example.com")'
        ),
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
            "unknown field spec.allowedNamespaces; known here: type, suspend, http, smtp, twilio, ses, sendGrid, "
            "mailgun, postmark, resend, line, slack, telegram, vonage, fcm, webPush, standardWebhooks, apprise, "
            "credentialsSecretRef, "
            "limits, maxInFlight, timeoutSeconds"
        ),
    ),
]

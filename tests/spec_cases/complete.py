"""Documents that use every field of a spec: between them, nothing is left out."""

from __future__ import annotations

from typing import Any

from tests.spec_cases.bodies import CP, A, C, P, action, campaign, email, provider

from sendonce_store.spec import SpecModel

__all__ = ["COMPLETE"]

KEY = {"name": "recipients", "key": "list.csv"}
RECIPIENT: dict[str, Any] = {
    "id": "ada",
    "email": "ada@example.com",
    "phone": "+15005550006",
    "line": "U0123",
    "push": "token",
    "slack": "C0123",
    "telegram": "42",
    "webpush": "{}",
    "webhook": "https://example.com/hook",
    "timezone": "Asia/Tokyo",
    "locale": "ja-JP",
    "quiet": "22:00-08:00",
    "channels": ["Line", "Email"],
    "variables": {"name": "Ada", "tags": ["a", {"b": None}], "none": None, "n": 1.5},
}
MESSAGES: list[dict[str, Any]] = [
    {
        "channel": "Line",
        "providerRef": {"kind": "ClusterNotificationProvider", "name": "line"},
        "template": {"text": "t"},
    },
    {
        "channel": "Email",
        "after": {"channel": "Line", "outcomes": ["Failed", "NoAddress", "Suppressed", "Expired"]},
        "providerRef": {"kind": "NotificationProvider", "name": "smtp"},
        "template": {
            "from": "News <news@example.com>",
            "replyTo": "desk@example.com",
            "subject": "s",
            "text": "t",
            "html": "<p>t</p>",
            "headers": {"List-Unsubscribe": "<https://example.com/u>"},
            "configMapRef": {"name": "templates"},
            "inlineCSS": True,
            "locale": "en",
            "variants": [
                {"locale": "pt-BR", "subject": "s", "text": "t", "html": "<p>t</p>", "configMapRef": {"name": "pt"}},
                {"locale": "de", "mjml": "<mjml></mjml>"},
            ],
            "attachments": [
                {
                    "name": "logo.png",
                    "contentType": "image/png",
                    "contentId": "logo",
                    "configMapKeyRef": {"name": "files", "key": "logo.png"},
                },
                {"name": "terms.pdf", "secretKeyRef": {"name": "terms", "key": "terms.pdf"}, "sha256": "0" * 64},
            ],
        },
    },
]
WORKERS: dict[str, Any] = {
    "max": 40,
    "concurrency": 100,
    "terminationGracePeriodSeconds": 90,
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": 2}},
    "podLabels": {"team": "news"},
    "podAnnotations": {"example.com/owner": "news desk"},
    "nodeSelector": {"pool": "batch"},
    "tolerations": [
        {"key": "batch", "operator": "Equal", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 60},
    ],
    "priorityClassName": "batch",
    "imagePullSecrets": [{"name": "registry"}],
}
CAMPAIGN = campaign(
    sendKey="spring-2026",
    topic="newsletter",
    priority="Low",
    suspend=True,
    cancel=True,
    recipients={"inline": [RECIPIENT], "expected": {"min": 1, "max": 2}, "maxRejectedPercent": 0},
    messages=MESSAGES,
    schedule={
        "startAt": "2026-12-01T09:00:00+09:00",
        "deadline": "2026-12-04T09:00:00.5Z",
        "quietHours": {
            "from": "21:00",
            "to": "09:00",
            "defaultTimezone": "Asia/Tokyo",
            "unknownTimezonePolicy": "UseDefault",
        },
    },
    frequencyCap={"messages": 3, "periodDays": 7},
    rollout={
        "canary": {
            "percent": 2,
            "minRecipients": 10,
            "observeSeconds": 60,
            "maxFailedPercent": 1,
            "promotion": "Automatic",
        },
    },
    retry={"maxAttempts": 3, "initialDelaySeconds": 5, "factor": 2, "maxDelaySeconds": 60},
    uncertainPolicy="Resend",
    failurePolicy={"maxFailedPercent": 10, "minDeliveries": 50, "action": "Continue"},
    workers=WORKERS,
    ttlSecondsAfterFinished=604800,
    dataRetentionDays=30,
)
SHARED: dict[str, Any] = {
    "suspend": True,
    "credentialsSecretRef": {"name": "credentials"},
    "limits": [{"messages": 80, "periodSeconds": 1, "burst": 8}],
    "maxInFlight": 200,
    "timeoutSeconds": 20,
}
HTTP: dict[str, Any] = {
    "url": "https://api.example.com/send",
    "method": "PUT",
    "headers": {"Authorization": "Bearer {{ secret.token }}"},
    "bodyTemplate": "{}",
    "bodyFormat": "Form",
    "messageIdPath": "data.id",
    "idempotencyKeyHeader": "Idempotency-Key",
    "keyWindowSeconds": 86400,
    "errorRules": [{"status": 409, "code": "duplicate", "as": "AlreadyAccepted"}],
    "tls": {"caSecretRef": {"name": "ca"}, "insecureSkipVerify": True},
}
SMTP: dict[str, Any] = {
    "host": "smtp.example.com",
    "port": 465,
    "tls": "TLS",
    "heloName": "mail.example.com",
    "caSecretRef": {"name": "ca"},
    "insecureSkipVerify": True,
}
BASE: dict[str, Any] = {"baseURL": "https://api.example.com/v1"}
NAMED: list[tuple[str, str, dict[str, Any]]] = [
    (
        "Twilio",
        "twilio",
        {
            "accountSID": "AC" + "0" * 32,
            "messagingServiceSID": "MG" + "0" * 32,
            "statusCallbackURL": "https://example.com/status",
            **BASE,
        },
    ),
    ("SES", "ses", {"region": "eu-west-1", "configurationSet": "news", **BASE}),
    ("SendGrid", "sendGrid", BASE),
    ("Mailgun", "mailgun", {"domain": "mg.example.com", **BASE}),
    ("Postmark", "postmark", {"messageStream": "broadcast", **BASE}),
    ("Resend", "resend", BASE),
    ("Line", "line", {"notificationDisabled": True, **BASE}),
    ("Slack", "slack", BASE),
    ("Telegram", "telegram", BASE),
    ("Vonage", "vonage", BASE),
    ("FCM", "fcm", {"projectID": "shop-12", **BASE}),
    (
        "WebPush",
        "webPush",
        {
            "subject": "mailto:push@example.com",
            "ttlSeconds": 60,
            "urgency": "High",
            "allowedHosts": ["push.example.com"],
        },
    ),
    (
        "StandardWebhooks",
        "standardWebhooks",
        {"allowedHosts": ["*.example.com"], "eventType": "order.shipped", "keyWindowSeconds": 86400},
    ),
    ("Apprise", "apprise", {}),
]
CREDENTIALS: dict[str, Any] = {"credentialsSecretRef": {"name": "credentials"}}
NAMESPACES: dict[str, Any] = {
    "from": "Selector",
    "selector": {
        "matchLabels": {"team": "news"},
        "matchExpressions": [{"key": "stage", "operator": "In", "values": ["production"]}],
    },
}
SELECTION: dict[str, Any] = {
    "states": ["Failed", "Expired", "Cancelled"],
    "reasons": ["RetriesExhausted", "RenderError"],
    "codes": ["4.2.2"],
    "channels": ["Email", "SMS"],
    "recipients": ["ada", "line:12"],
    "limit": 500,
}

S3 = {
    "bucket": "lists",
    "key": "spring/readers.csv",
    "endpointURL": "https://s3.example.com:9000",
    "region": "eu-west-1",
    "credentialsSecretRef": {"name": "s3"},
}
COMPLETE: list[tuple[type[SpecModel], dict[str, Any]]] = [
    (C, CAMPAIGN),
    *(
        (C, campaign(recipients=source | {"format": "NDJSON", "compression": "Gzip"}))
        for source in (
            {"configMapKeyRef": KEY},
            {"secretKeyRef": KEY},
            {"http": {"url": "https://example.com/r", "headersSecretRef": {"name": "h"}, "sha256": "0" * 64}},
            {"http": {"urlSecretKeyRef": KEY}},
            {"s3": S3},
            {"postgres": {"dsnSecretKeyRef": KEY, "query": "select 1"}},
            {"mysql": {"dsnSecretKeyRef": KEY, "query": "select 1"}},
        )
    ),
    (C, email(subject="s", mjml="<mjml></mjml>")),
    (C, campaign(recipients={"stream": {}}, close=True)),
    (P, provider(type="HTTP", http=HTTP, **SHARED)),
    (P, provider(type="SMTP", smtp=SMTP)),
    *((P, provider(type=kind, **{block: settings}, **CREDENTIALS)) for kind, block, settings in NAMED),
    (CP, provider(type="HTTP", http=HTTP, allowedNamespaces=NAMESPACES, **SHARED)),
    (CP, provider(type="SMTP", smtp=SMTP, allowedNamespaces={"from": "All"})),
    *(
        (CP, provider(type=kind, **{block: settings}, **CREDENTIALS, allowedNamespaces={"from": "All"}))
        for kind, block, settings in NAMED
    ),
    (A, action(type="Retry", deliveries=SELECTION)),
    (A, action(type="Resolve", resolveAs="Resend", deliveries={"states": ["Uncertain"]})),
    (A, action(type="Suppress", deliveries={"recipients": ["ada", "line:12"], "channels": ["Email"]})),
    (A, action(type="Unsuppress", deliveries={"states": ["Failed"], "codes": ["550"]})),
    (A, action(type="Promote")),
    (A, action(type="Resume")),
]

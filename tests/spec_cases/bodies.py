"""Documents of each kind without apiVersion and kind, as small as they may be, and what can be put into them."""

from __future__ import annotations

from typing import Any

from sendonce_store.spec import (
    ClusterNotificationProvider,
    NotificationAction,
    NotificationCampaign,
    NotificationProvider,
)

FILE = {"configMapKeyRef": {"name": "r", "key": "r.csv"}, "format": "CSV"}
EMAIL = {"channel": "Email", "providerRef": {"name": "smtp"}, "template": {"subject": "s", "text": "t"}}
LINE = {"channel": "Line", "providerRef": {"name": "line"}, "template": {"text": "t"}}
SMS = {"channel": "SMS", "providerRef": {"name": "sms"}, "template": {"text": "t"}}
SMTP = {"host": "smtp.example.com"}
HTTP = {"url": "https://api.example.com/send"}
QUIET = {"from": "21:00", "to": "09:00"}
LOGO = {"name": "logo.png", "configMapKeyRef": {"name": "files", "key": "logo.png"}}


def campaign(name: str = "spring", **spec: Any) -> dict[str, Any]:
    spec = {"category": "Marketing", "recipients": FILE, "messages": [EMAIL]} | spec
    return {"metadata": {"name": name}, "spec": spec}


def inline(*recipients: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return campaign(recipients={"inline": list(recipients)}, **spec)


def email(**template: Any) -> dict[str, Any]:
    return campaign(messages=[EMAIL | {"template": template}])


def fallback(to: str, *others: dict[str, Any]) -> dict[str, Any]:
    return campaign(messages=[EMAIL | {"after": {"channel": to}}, *others])


def provider(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def http(**block: Any) -> dict[str, Any]:
    return provider(type="HTTP", http=HTTP | block)


def allowed(**namespaces: Any) -> dict[str, Any]:
    return provider(type="SMTP", smtp=SMTP, allowedNamespaces=namespaces)


def requirement(**expression: Any) -> dict[str, Any]:
    return allowed(**{"from": "Selector"}, selector={"matchExpressions": [{"key": "team", **expression}]})


def action(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"campaignRef": {"name": "spring"}} | spec}


C, P, CP, A = NotificationCampaign, NotificationProvider, ClusterNotificationProvider, NotificationAction

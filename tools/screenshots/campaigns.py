"""The campaigns that the pictures show: documents for `sendonce run`, and their readers. Pure; nobody in it exists.

A far end that loses answers, turns people away and asks for patience makes of them what there is to see.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

API_VERSION = "sendonce.dev/v1alpha1"
Document = dict[str, Any]

# Somebody for each story: tried again, refused for good, the answer lost, opted out.
PATIENT, GONE, UNCLEAR, LEFT = (f"{name}@example.com" for name in ("mia.larsen", "ivo.novak", "noor.haddad", "jun.ito"))
FATES: Mapping[str, str] = {PATIENT: "transient2", GONE: "permanent", UNCLEAR: "lost1"}
_FIRST = ("Aiko", "Bruno", "Chidi", "Dana", "Elif", "Femi", "Greta", "Hana", "Kaya", "Lior", "Mina", "Omar", "Ravi")
_LAST = ("Adler", "Bianchi", "Castro", "Diallo", "Eriksen", "Fischer", "Garcia", "Hughes", "Ivanova", "Jansen", "Kim")
_TOWNS = ("Aarau", "Bergen", "Cusco", "Daegu", "Espoo", "Gent", "Izmir", "Kyoto", "Lviv", "Porto")
_HTML = """<!doctype html>
<html><head><meta name="color-scheme" content="light dark"><style>
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; background: #f4efe6; color: #2b2620; }
.card { max-width: 34rem; margin: 0 auto; background: #fffdf8; padding: 28px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 12px; color: #7a3b12; }
.more { display: inline-block; background: #7a3b12; color: #fff; padding: 10px 18px; text-decoration: none; }
.small { color: #75695a; font-size: 13px; }
@media (prefers-color-scheme: dark) {
  body { background: #1d1a16; color: #efe7da; } .card { background: #28231d; }
  h1 { color: #f0b78a; } .small { color: #b3a591; }
}
</style></head><body><div class="card">
<h1>HEADING</h1>
<p>WORDS</p>
<p><a class="more" href="https://example.com/rooms">BUTTON</a></p>
<p class="small">SMALL</p>
</div></body></html>
"""


def _html(heading: str, words: str, button: str, small: str) -> str:
    parts = {"HEADING": heading, "WORDS": words, "BUTTON": button, "SMALL": small}
    html = _HTML
    for place, text in parts.items():
        html = html.replace(place, text)
    return html


NEWS = _html(
    "{{ name }}, the reading room in {{ town }} opens on Friday",
    "Twelve thousand books, four hundred chairs, and tea from nine in the morning. Bring a friend: the first evening "
    "is free for both of you.",
    "See the programme",
    "You get this because you asked for news of reading rooms near you.",
)
SHIPPED = _html(
    "{{ name }}, your books are on their way",
    "Two books left our house today and arrive in {{ town }} on Thursday. Somebody will ring twice.",
    "Follow the parcel",
    "You get this because you ordered something.",
)


def people(count: int, seed: int, named: Sequence[str] = ()) -> str:
    """A CSV of readers, the named ones among the first."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable list, not a secret
    rows = [_named(no, address, chance) for no, address in enumerate(named)]
    rows += [_anybody(no, chance) for no in range(len(named), count)]
    text = io.StringIO()
    csv.writer(text).writerows([("id", "email", "phone", "name", "town"), *rows])
    return text.getvalue()


def _named(no: int, address: str, chance: random.Random) -> tuple[str, ...]:
    return f"c-{10_400 + no}", address, f"+1500555{no:04d}", address.partition(".")[0].title(), chance.choice(_TOWNS)


def _anybody(no: int, chance: random.Random) -> tuple[str, ...]:
    first, last = chance.choice(_FIRST), chance.choice(_LAST)
    address = f"{first}.{last}{no}@example.com".lower()
    return f"c-{10_400 + no}", address, f"+1500555{no:04d}", first, chance.choice(_TOWNS)


def document(kind: str, name: str, spec: Document) -> Document:
    """A document of ours."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def providers(smtp_port: int, http_port: int, pace: int) -> list[Document]:
    """`mail`, an SMTP server that knows no keys and takes `pace` messages a second, and `texts`, an API that does."""
    mail = {
        "type": "SMTP",
        "smtp": {"host": "127.0.0.1", "port": smtp_port, "tls": "None"},
        "limits": [{"messages": pace, "periodSeconds": 1, "burst": pace}],
        "timeoutSeconds": 3,
    }
    http = {"url": f"http://127.0.0.1:{http_port}/send", "idempotencyKeyHeader": "Idempotency-Key"}
    texts = {"type": "HTTP", "http": {**http, "keyWindowSeconds": 86_400, "messageIdPath": "id"}, "timeoutSeconds": 3}
    return [document("NotificationProvider", "mail", mail), document("NotificationProvider", "texts", texts)]


def _email(subject: str, text: str, html: str = "") -> Document:
    template = {"from": "Reading Room <news@example.com>", "subject": subject, "text": text}
    if html:
        template["html"] = html
    return {"channel": "Email", "providerRef": {"name": "mail"}, "template": template}


def _sms(text: str) -> Document:
    return {"channel": "SMS", "providerRef": {"name": "texts"}, "template": {"from": "+15005550006", "text": text}}


def campaign(name: str, category: str, messages: Sequence[Document], **more: Any) -> Document:  # noqa: ANN401 - of the spec
    """A campaign to the readers in the file `readers`, with further fields."""
    recipients = {"configMapKeyRef": {"name": "readers", "key": f"{name}.csv"}, "format": "CSV"}
    retry = {"maxAttempts": 5, "initialDelaySeconds": 4, "factor": 2, "maxDelaySeconds": 20}
    fixed = {"category": category, "recipients": recipients, "messages": list(messages), "retry": retry}
    return document("NotificationCampaign", name, {**fixed, "failurePolicy": {"action": "Continue"}, **more})


def newsletter(now: datetime | None = None) -> Document:
    """The large one, which is under way in the pictures."""
    deadline = (now or datetime.now(UTC)) + timedelta(hours=6)
    opens = _email(
        "{{ name }}, the reading room in {{ town }} opens on Friday",
        "Hello {{ name }},\nthe reading room in {{ town }} opens on Friday at 18:00. Bring a friend.\n",
        NEWS,
    )
    schedule = {"deadline": deadline.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return campaign("spring-newsletter", "Marketing", [opens], topic="newsletter", schedule=schedule)


def before_applied() -> list[Document]:
    """The newsletter to one person who stands in the document itself, with its provider: what is previewed."""
    found = newsletter()
    mia = {"id": "c-10400", "email": PATIENT, "variables": {"name": "Mia", "town": "Bergen"}}
    spec = {**found["spec"], "recipients": {"inline": [mia]}}
    return [{**found, "spec": spec}, providers(2525, 8080, 40)[0]]


def others(now: datetime | None = None) -> dict[str, list[Document]]:
    """The smaller ones by namespace."""
    later = ((now or datetime.now(UTC)) + timedelta(days=2)).strftime("%Y-%m-%dT09:00:00Z")
    shipped = [
        _email("Your books are on their way", "Hello {{ name }}, they arrive in {{ town }} on Thursday.", SHIPPED),
        _sms("{{ name }}, your books arrive in {{ town }} on Thursday."),
    ]
    canary = {"percent": 20, "minRecipients": 20, "observeSeconds": 0, "maxFailedPercent": 60, "promotion": "Manual"}
    points = [_sms("{{ name }}, your points are worth twice as much this week.")]
    fees = [_email("Fees from January", "Dear {{ name }}, this is what changes in January.")]
    return {
        "shop": [campaign("order-shipped-w48", "Transactional", shipped)],
        "loyalty": [campaign("winter-points", "Marketing", points, rollout={"canary": canary})],
        "library": [campaign("fees-2027", "Transactional", fees, schedule={"startAt": later})],
    }

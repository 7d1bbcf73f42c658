"""A store with two teams in it, sent by the store's own functions with fates that are chosen: what the console shows.

town = await build(conn)        namespaces `shop` and `bank`
town.spring                     shop/spring: Email, going on: sent, refused, lost, waiting, suppressed; a hostile name
town.welcome                    shop/welcome: Email and SMS, all sent and complete
town.statement                  bank/statement: another team's, complete
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sendonce_rendering import compile_message
from sendonce_store import campaigns, imports, queue
from sendonce_store.addresses import NORMALISERS
from sendonce_store.conduct import conduct
from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Holder, Repeats, Result, Row, Terms, Turn
from sendonce_store.spec import NotificationCampaign, NotificationProvider
from sendonce_store.variables import template_variables

REPEATS = Repeats(key_window=None, patience=32.0, resend=False, max_attempts=5)
HOSTILE = '"><script>alert(1)</script>'
TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "Email": {
        "from": "news@example.com",
        "subject": "Hello {{ name }}",
        "text": "Dear {{ name }}, news!",
        "html": "<p>Dear {{ name }}, <b>news</b>!</p><script>parent.document.title = 'taken'</script>",
    },
    "SMS": {"text": "News for {{ name }}"},
}
SENT: Mapping[str, Any] = {"state": "sent", "message_id": "m-1"}
REFUSED: Mapping[str, Any] = {
    "state": "failed", "outcome": "permanent", "reason": "permanent", "code": "5.1.1",
    "error": "550 5.1.1 <rob@example.com>: no such user <img src=x onerror=alert(1)>", "used": 1,
}  # fmt: skip
LOST: Mapping[str, Any] = {
    "state": "uncertain", "outcome": "unknown", "reason": "unknown_outcome", "code": "timeout", "error": "no answer",
    "unknown": True, "used": 1,
}  # fmt: skip
LATER: Mapping[str, Any] = {
    "state": "pending", "outcome": "temporary", "code": "451", "error": "451 try again", "delay": 3600.0, "used": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sown:
    """A campaign of the store."""

    id: int
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Town:
    """The whole."""

    conn: Connection
    spring: Sown
    welcome: Sown
    statement: Sown


def campaign_document(
    namespace: str, name: str, channels: Sequence[str] = ("Email",), **spec: Any
) -> NotificationCampaign:
    """A campaign over providers `email`, `sms`, …; `spec` fields are given as on the wire."""
    messages = [{"channel": c, "providerRef": {"name": c.lower()}, "template": TEMPLATES[c]} for c in channels]
    given = {
        "category": "Marketing",
        "recipients": {"inline": [{"email": "x@example.com", "phone": "+15005550006"}]},
        "messages": messages,
        **spec,
    }
    return NotificationCampaign.from_wire({"metadata": {"name": name, "namespace": namespace}, "spec": given})


def person(line: int, name: str, ref: str | None = None, **addresses: str) -> Recipient:
    """`person(2, "Mia", Email="mia@example.com")`."""
    found = {channel: NORMALISERS[channel](text) for channel, text in addresses.items()}
    return Recipient(line, ref, found, None, None, {"name": name})


async def sow(
    conn: Connection, document: NotificationCampaign, people: Sequence[Recipient], rejected: Sequence[Rejected] = ()
) -> Sown:
    """Adopt a campaign and import people."""
    namespace = document.metadata.namespace
    for message in document.spec.messages:
        spec: dict[str, Any] = {
            "type": "HTTP",
            "http": {"url": "http://127.0.0.1:9/", "bodyTemplate": '{"to": "{{ to }}"}'},
        }
        spec |= {"limits": [{"messages": 50, "periodSeconds": 1}]}
        metadata = {"name": message.channel.value.lower(), "namespace": namespace}
        await campaigns.sync_provider(conn, NotificationProvider.from_wire({"metadata": metadata, "spec": spec}))
    adoption = await campaigns.adopt(conn, document, document.spec)
    holder = Holder(f"worker-{document.metadata.name}", namespace, adoption.campaign_id)
    batch = await queue.claim(conn, holder, uuid.uuid4(), 60.0, {})
    assert batch is not None
    plan = await imports.prepare(conn, adoption.campaign_id)
    await imports.commit_chunk(conn, batch, holder, plan.chunk(people, rejected, {}), 60.0)
    await imports.finish(conn, batch, holder)
    return Sown(adoption.campaign_id, namespace, document.metadata.name)


async def send(conn: Connection, sown: Sown, fates: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Send what is due: address → how its attempt ends; others are sent. Then conduct."""
    stored = await campaigns.read(conn, sown.namespace, sown.name)
    assert stored is not None
    holder = Holder(f"worker-{sown.name}", sown.namespace, sown.id)
    parameters = {"worker": holder.worker, "namespace": sown.namespace, "campaign": sown.id}
    await conn.execute(load("campaigns")["register_worker"], parameters)
    messages = {
        message.channel.value: compile_message(message.template, message.channel.value)
        for message in stored.spec.messages
    }
    while (batch := await queue.claim(conn, holder, uuid.uuid4(), 60.0, dict.fromkeys(messages, REPEATS))) is not None:
        rows = await queue.due_rows(conn, batch)
        message = messages[batch.channel or ""]

        def digest(row: Row, message: Any = message) -> bytes:
            return bytes(message.render(template_variables(row)).digest())

        group = [(row.no, digest(row)) for row in rows]
        begun = await queue.take_turn(conn, batch, holder, Turn(group=group), Terms(REPEATS))
        addresses = {row.no: row.address for row in rows}
        results = [
            Result(one.no, one.attempt_seq, **(fates or {}).get(addresses[one.no], SENT))
            for one in begun.started
            if one.state == "sending"
        ]
        await queue.take_turn(conn, batch, holder, Turn(results=results), Terms(REPEATS))
        await queue.release(conn, batch)
    await conduct(conn, sown.id, campaigns.policy_of(stored.spec))


async def build(conn: Connection, shop: str = "shop", bank: str = "bank") -> Town:
    """Sow and send everything."""
    people = [person(no, f"Person {no}", f"c{no}", Email=f"p{no}@example.com") for no in range(2, 9)]
    odd = [
        person(9, "Rob", "c9", Email="rob@example.com"),
        person(10, "Mia", "c10", Email="mia@example.com"),
        person(11, "Leo", "c11", Email="leo@example.com"),
        person(12, HOSTILE, HOSTILE, Email="hostile@example.com"),
        person(13, "Ann", "c13", Email="ann@example.com"),
    ]
    suppression = "INSERT INTO sendonce.suppressions VALUES (%s, 'Email', 'ann@example.com', 'complained', 'a form')"
    await conn.execute(suppression, [shop])
    spring = await sow(
        conn, campaign_document(shop, "spring"), people + odd, [Rejected(14, "email", "is no address", "x")]
    )
    await send(conn, spring, {"rob@example.com": REFUSED, "mia@example.com": LOST, "leo@example.com": LATER})
    both = [
        person(2, "Zoe", "z2", Email="zoe@example.com", SMS="+15005550006"),
        person(3, "Tim", "t3", Email="tim@example.com"),
    ]
    welcome = await sow(conn, campaign_document(shop, "welcome", ("Email", "SMS")), both)
    await send(conn, welcome)
    theirs = [person(2, "Banker", "b2", Email="banker@example.com")]
    statement = await sow(conn, campaign_document(bank, "statement"), theirs)
    await send(conn, statement)
    return Town(conn, spring, welcome, statement)

"""The preference page over a real store: what it shows to whom, and what its form changes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sendonce_gateway.languages import Languages
from sendonce_gateway.wording import ENGLISH

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Gate, Opening

ADA = "ada@example.com"


async def _delivered(gate: Gate, topic: str, address: str, namespace: str = "shop") -> None:
    """A campaign about the topic with a message for the address."""
    await gate.links(namespace, topic, topic)
    await gate.rows(
        "INSERT INTO sendonce.providers (namespace, kind, name, spec)"
        " VALUES (%(n)s, 'NotificationProvider', 'mail', '{}') ON CONFLICT DO NOTHING",
        n=namespace,
    )
    await gate.rows(
        "WITH batch AS (INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)"
        " SELECT c.namespace, c.id, 'send', 'Email', p.id, now() FROM sendonce.campaigns c, sendonce.providers p"
        "  WHERE c.namespace = %(n)s AND c.send_key = %(topic)s AND p.namespace = %(n)s RETURNING id, campaign_id)"
        " INSERT INTO sendonce.deliveries"
        "  (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at)"
        " SELECT id, 1, campaign_id, 1, gen_random_uuid(), %(n)s, 'Email', %(address)s, now() FROM batch",
        n=namespace,
        topic=topic,
        address=address,
    )


def _ticks(page: str) -> dict[str, bool]:
    """Topic → whether its box has a tick."""
    found = re.findall(r'<input type="checkbox" name="topic" value="([^"]*)"( checked)?>', page)
    return {name: bool(mark) for name, mark in found}


async def _topics(gate: Gate) -> set[str]:
    return {topic for *_, topic in await gate.opt_outs()}


async def test_the_page_shows_what_the_person_got_and_nothing_else(gate: Gate) -> None:
    await _delivered(gate, "offers", ADA)
    await _delivered(gate, "secret-plans", "bob@example.com")
    await _delivered(gate, "bank-news", ADA, namespace="bank")
    await gate.rows("INSERT INTO sendonce.opt_outs VALUES ('shop', 'Email', 'ada@example.com', 'Marketing', 'tips')")
    await gate.rows("INSERT INTO sendonce.opt_outs VALUES ('shop', 'Email', 'bob@example.com', 'Marketing', 'rumours')")
    answer = await gate.get(await gate.link("preferences"))
    assert answer.title == "What you get"
    assert _ticks(answer.text) == {"newsletter": True, "offers": True, "tips": False}


async def test_get_changes_nothing_and_post_changes_what_was_on_the_page(gate: Gate) -> None:
    await _delivered(gate, "offers", ADA)
    path = await gate.link("preferences")
    await gate.get(path)
    assert await gate.opt_outs() == set()
    form = [("known", "newsletter"), ("known", "offers"), ("topic", "newsletter"), ("save", "1")]
    answer = await gate.post(path, form)
    assert "Your choice is saved." in answer.text
    assert _ticks(answer.text) == {"newsletter": True, "offers": False}
    assert await gate.opt_outs() == {("shop", "Email", ADA, "Marketing", "offers")}
    # a topic that came up meanwhile was not on the page
    await _delivered(gate, "tips", ADA)
    await gate.post(path, [("known", "newsletter"), ("known", "offers"), ("topic", "offers")])
    assert await _topics(gate) == {"newsletter"}
    assert 'sendonce_gateway_wishes_total{way="preferences",wish="in"} 1.0' in await gate.metrics()


async def test_stop_all_and_begin_again(gate: Gate) -> None:
    await _delivered(gate, "offers", ADA)
    path = await gate.link("preferences")
    answer = await gate.post(path, {"known": "newsletter", "topic": "newsletter", "nothing": "1"})
    assert await _topics(gate) == {""}
    assert _ticks(answer.text) == {"newsletter": False, "offers": False}
    assert "You get no messages about news and offers here." in answer.text
    await gate.post(path, [("known", "newsletter"), ("known", "offers"), ("topic", "offers")])
    assert await _topics(gate) == {"newsletter"}


async def test_a_form_takes_up_no_topic_that_the_person_does_not_know(gate: Gate) -> None:
    await _delivered(gate, "secret-plans", "bob@example.com")
    await gate.post(
        await gate.link("preferences"),
        [("known", "secret-plans"), ("known", "made-up"), ("topic", "newsletter"), ("known", "newsletter")],
    )
    assert await gate.opt_outs() == set()


async def test_without_topics_the_whole_is_chosen(gate: Gate) -> None:
    path = await gate.link("preferences", topic="")
    assert _ticks((await gate.get(path)).text) == {"": True}
    answer = await gate.post(path, {"known": "", "save": "1"})
    assert _ticks(answer.text) == {"": False}
    assert await _topics(gate) == {""}
    await gate.post(path, {"known": "", "topic": ""})
    assert await gate.opt_outs() == set()


async def test_the_page_after_unsubscribing_leads_to_the_preferences(gate: Gate) -> None:
    answer = await gate.post(await gate.link(), {"List-Unsubscribe": "One-Click"})
    found = re.search(r'href="https://notify\.example\.com/base(/p/[\w-]+)"', answer.text)
    assert found is not None
    assert _ticks((await gate.get(found[1])).text) == {"newsletter": False}
    # the link of a header is in logs of mail servers: it opens no preferences by itself
    assert (await gate.get((await gate.link()).replace("/u/", "/p/"))).status == 404


async def test_pages_are_in_the_language_of_the_person_and_programs_get_english(open_gate: Opening) -> None:
    own = replace(
        ENGLISH,
        language="de",
        topics={"newsletter": "Rund & <b>"},
        unsubscribe_title="Abmelden?",
        preferences_saved="Gespeichert.",
        incomplete_text="Der Link ist nicht ganz.",
    )
    gate = await open_gate(languages=Languages({"en": ENGLISH, "de": own}))
    german = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
    asked = await gate.get(await gate.link(), headers=german)
    assert (asked.title, asked.headers["Content-Language"]) == ("Abmelden?", "de")
    assert '<html lang="de">' in asked.text
    assert "about “Rund &amp; &lt;b&gt;” here" in asked.text
    path = await gate.link("preferences")
    saved = await gate.post(path, {"known": "newsletter"}, headers=german)
    assert "Gespeichert." in saved.text
    assert await _topics(gate) == {"newsletter"}, "the topic has the name that it has"
    assert "Der Link ist nicht ganz." in (await gate.get(f"/u/{'A' * 64}", headers=german)).text
    assert (await gate.get(await gate.link(), headers={"Accept-Language": "fr"})).title == "Unsubscribe?"
    refused = await gate.post("/v1/namespaces/shop/campaigns/c/recipients", headers=german)
    assert json.loads(refused.text)["error"]["code"] == "unauthorized"

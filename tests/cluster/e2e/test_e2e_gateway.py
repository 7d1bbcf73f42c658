"""The public gateway on the cluster: people who unsubscribe, a provider that reports, an application that adds people.

docs/gateway.md and docs/receipts.md step by step, then `orders`, a standing campaign over the provider `api`, and
letters over `mail`, a mail server that keeps what it gets. The gateway is asked at its Service's address, as a proxy
in front of it would; links are of the address that people are told.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event

import httpx
import pytest
from tests.cluster.e2e import jobs
from tests.cluster.e2e.containers import kill
from tests.cluster.e2e.forwarding import reached
from tests.cluster.e2e.mailbox import Mailbox, mailbox
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.release import SYSTEM, Release
from tests.cluster.e2e.shop import PATIENCE, Object, Pod, Shop, campaign, keyed, provider
from tests.cluster.manifests import as_list
from tests.unit.gateway.receipts_senders import StandardWebhooks, Told

from sendonce_cli.simulate.outcomes import Outcome
from sendonce_store.receipts import Kind

PUBLIC = "https://notify.example.com"
RECEIPTS, STREAM = "sendonce-receipts", "orders"
# One Pod: while it is away nobody answers.
VALUES: Object = {
    "gateway": {
        "enabled": True,
        "publicUrl": PUBLIC,
        "replicas": 1,
        "proxies": 0,
        "receiptsSecret": RECEIPTS,
    }
}
READERS = ("ada", "bob", "cleo")
# of the first letter alone
LEAVER = "eve"
FLOOD = 400
AT_ONCE = 8


def mail_of(name: str) -> str:
    return f"{name}@example.com"


# --- what is applied -------------------------------------------------------------------------------------------------
def letter(name: str, people: Iterable[str]) -> Object:
    """A campaign of the category Marketing, whose subject is its name."""
    template = {"from": "news@example.com", "subject": name, "text": "News."}
    message = {"channel": "Email", "providerRef": {"name": "mail"}, "template": template}
    inline = [{"id": one, "email": mail_of(one)} for one in people]
    more: Object = {"recipients": {"inline": inline}, "messages": [message], "workers": {"max": 1}}
    return campaign(name, category="Marketing", topic="news", **more)


def providers(shop: Shop, box: Mailbox) -> list[Object]:
    """`mail`, and `api`, to which each message has an address of its own: the ledger says what a report is about."""
    api = keyed(shop.far_end)
    api["spec"]["http"]["url"] += "/{{ delivery_id }}"
    smtp = {"host": shop.far_end.host, "port": box.port, "tls": "None"}
    return [api, provider("mail", type="SMTP", smtp=smtp, timeoutSeconds=5)]


def install(premises: Premises, release: Release, shop: Shop, sender: StandardWebhooks) -> None:
    """The secret of who reports, and the chart with the gateway on, which makes its login."""
    (value,) = sender.secrets["secret"]
    receipts = jobs.secret(RECEIPTS, **{f"{shop.namespace}.webhook.api.secret": value})
    release.cluster.kubectl("-n", SYSTEM, "apply", "-f-", stdin=as_list(receipts))
    done = release.put({**VALUES, "store": {"address": premises.store.address}})
    assert done.returncode == 0, f"{done.stderr}\n{release.shown()}"


# --- what is asked ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Gate:
    """The gateway as those outside see it. `token`: of an application; `sender`: the provider that reports."""

    premises: Premises
    shop: Shop
    box: Mailbox
    http: httpx.Client
    token: str
    sender: StandardWebhooks

    def link(self, person: str, subject: str) -> str:
        """The path that stands in a mail's header for unsubscribing."""
        header = self.box.header(mail_of(person), subject, "List-Unsubscribe")
        found = re.fullmatch(f"<{PUBLIC}(/u/[^\\s>]+)>", header)
        assert found is not None, header
        return found[1]

    def press(self, person: str, subject: str) -> httpx.Response:
        """One click, as a mailbox provider sends it: the other header is the body (RFC 8058 §3.2)."""
        body = self.box.header(mail_of(person), subject, "List-Unsubscribe-Post")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.http.post(self.link(person, subject), content=body, headers=form)

    def add(self, person: str, key: str, token: str | None = None) -> httpx.Response:
        """Add a recipient to the standing campaign, as an application does."""
        path = f"/v1/namespaces/{self.shop.namespace}/campaigns/{STREAM}/recipients"
        headers = {"Authorization": f"Bearer {token or self.token}", "Idempotency-Key": key}
        return self.http.post(path, json={"email": mail_of(person), "name": person}, headers=headers)

    def is_added(self, person: str, key: str) -> bool:
        """Whether it was answered 202; no answer, and one of 5xx, means that it has to be sent again."""
        try:
            answer = self.add(person, key)
        except httpx.TransportError:
            return False
        assert answer.status_code == 202 or answer.status_code >= 500, answer.text
        return answer.status_code == 202

    def report(self, person: str, event: str, sender: StandardWebhooks | None = None) -> httpx.Response:
        """A bounce of the one message that a person got, signed by the provider unless another is given."""
        (row,) = [row for row in self.shop.far_end.ledger().rows if row.to == mail_of(person)]
        told = Told(Kind.BOUNCED, row.path.rpartition("/")[2], "", event, datetime.now(UTC), row.to)
        sent = (sender or self.sender).send(told)
        path = f"/receipts/{self.shop.namespace}/webhook/api"
        return self.http.post(path, content=sent.body, headers=sent.headers)

    # --- what has become of it
    def got(self, *people: str) -> Counter[str]:
        """How many messages of the standing campaign each of these people got."""
        asked = {mail_of(person): person for person in people}
        rows = self.shop.far_end.ledger().with_outcome(Outcome.ACCEPTED)
        return Counter(asked[row.to] for row in rows if row.to in asked)

    def until_got(self, *people: str) -> None:
        """Wait until each of these people has got a message of the standing campaign."""
        self.shop.until(lambda: self.got(*people).keys() == set(people), f"{', '.join(people[:3])} … got a message")

    def status(self, part: str, name: str) -> int:
        """A number in the standing campaign's status."""
        return int(self.shop.get("nc", STREAM)["status"].get(part, {}).get(name, 0))

    def bounced(self) -> int:
        return self.status("receipts", "bounced")

    def addresses(self, *words: str) -> set[str]:
        """Those in a list of `sendonce`."""
        found = json.loads(self.premises.sendonce(*words, "-n", self.shop.namespace, "-o", "json"))
        return {one["address"] for one in found}

    def pod(self) -> Pod:
        which = ["-l", "app.kubernetes.io/component=gateway"]
        (found,) = json.loads(self.shop.kubectl("-n", SYSTEM, "get", "pods", *which, "-o", "json"))["items"]
        return Pod.of(found)


@pytest.fixture(scope="module")
def gate(premises: Premises, release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """The gateway in the cluster, and a namespace with both campaigns under way."""
    folder, sender = tmp_path_factory.mktemp("gateway"), StandardWebhooks()
    with premises.shop(folder) as shop, mailbox(premises.host) as box:
        install(premises, release, shop, sender)
        stream = campaign(STREAM, recipients={"stream": {}}, workers={"max": 1})
        shop.apply(*providers(shop, box), stream, letter("spring", (*READERS, LEAVER)))
        token = premises.sendonce("gateway", "token", "add", shop.namespace, "checkout").strip()
        with (
            reached(premises.cluster, SYSTEM, "sendonce-gateway", 80) as address,
            httpx.Client(base_url=address, timeout=10, trust_env=False) as http,
        ):
            yield Gate(premises, shop, box, http, token, sender)
    # it would hold connections to the database for as long as it runs
    premises.cluster.kubectl("-n", SYSTEM, "scale", "deployment/sendonce-gateway", "--replicas=0")
    premises.cluster.kubectl("-n", SYSTEM, "delete", "secrets", RECEIPTS)


# --- applications ----------------------------------------------------------------------------------------------------
def test_a_recipient_whom_an_application_adds_twice_with_one_key_is_sent_to_once(gate: Gate) -> None:
    answers = [gate.add("ann", "order-1-taken") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    assert gate.add("ann", "order-2-taken", "sendonce_app_of_nobody").status_code == 401
    # added later, sent later: by then a second one to `ann` would have been sent
    assert gate.add("ben", "order-3-taken").status_code == 202
    gate.until_got("ann", "ben")
    assert gate.got("ann", "ben") == Counter(ann=1, ben=1)


# --- people ----------------------------------------------------------------------------------------------------------
def test_who_presses_the_link_of_a_letter_gets_no_other_and_a_scanner_that_follows_it_opts_nobody_out(
    gate: Gate,
) -> None:
    gate.shop.until_complete("spring")
    for reader in READERS:
        assert gate.http.get(gate.link(reader, "spring")).status_code == 200
    assert gate.press("ada", "spring").status_code == 200
    gate.shop.apply(letter("summer", READERS))
    deliveries = gate.shop.until_complete("summer")["status"]["deliveries"]
    assert (deliveries["sent"], deliveries["suppressed"]) == (2, 1)
    assert gate.box.got("summer") == Counter({mail_of("bob"): 1, mail_of("cleo"): 1})
    assert gate.addresses("recipients", "summer", "--reason", "OptedOut") == {mail_of("ada")}


# --- providers -------------------------------------------------------------------------------------------------------
def test_a_signed_bounce_counts_and_suppresses_and_what_is_forged_or_repeated_changes_nothing(gate: Gate) -> None:
    before = gate.bounced()
    for person in ("gone", "here"):
        assert gate.add(person, f"first-{person}").status_code == 202
    gate.until_got("gone", "here")
    assert gate.report("here", "forged", StandardWebhooks()).status_code == 403
    assert [gate.report("gone", "bounce").status_code for _ in range(2)] == [200, 200]
    gate.shop.until(lambda: gate.bounced() > before, "the bounce is counted")
    for person in ("gone", "here"):
        assert gate.add(person, f"second-{person}").status_code == 202
    gate.shop.until(lambda: gate.got("here")["here"] == 2, "another message for whom nobody reported")
    gate.shop.until(lambda: gate.status("deliveries", "suppressed") == 1, "none for whom the provider reported")
    listed = gate.addresses("recipients", STREAM, "--state", "suppressed", "--reason", "SuppressionList")
    assert listed == {mail_of("gone")}
    assert gate.got("gone") == Counter(gone=1)
    assert gate.bounced() == before + 1


# --- a Pod that is killed --------------------------------------------------------------------------------------------
def test_what_was_answered_before_the_gateway_was_killed_is_not_lost_and_what_was_not_is_sent_again(
    gate: Gate,
) -> None:
    gate.shop.until_complete("spring")
    people, before, answered, killed = [f"n{no}" for no in range(FLOOD)], gate.bounced(), set[str](), Event()
    assert gate.add("back", "back").status_code == 202
    gate.until_got("back")

    def add(person: str) -> None:
        if person in later:
            killed.wait(PATIENCE)
        gate.shop.until(lambda: gate.is_added(person, f"flood-{person}"), f"{person} is added")
        answered.add(person)

    pod, later = gate.pod(), set(people[FLOOD // 2 :])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        added = pool.map(add, people)
        try:
            gate.shop.until(lambda: len(answered) >= AT_ONCE, "some are added")
            assert (gate.press(LEAVER, "spring").status_code, gate.report("back", "late").status_code) == (200, 200)
            kill(gate.shop, pod)
        finally:
            killed.set()
        assert len(list(added)) == FLOOD
    gate.shop.until(lambda: gate.pod().ready and gate.pod().restarts > 0, "the gateway is ready again")
    gate.until_got(*people)
    assert gate.got(*people) == Counter(people)
    assert mail_of(LEAVER) in gate.addresses("suppress", "list", "--opt-out", "--category=Marketing", "--topic=news")
    gate.shop.until(lambda: gate.bounced() == before + 1, "the bounce is counted")

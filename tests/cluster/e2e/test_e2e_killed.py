"""Two campaigns whose containers are killed in the middle, and what the far end says of it.

`spring` goes to a provider with keys: its container runs out of memory, and nobody notices. `letters` goes by SMTP,
which has no keys: its container gets SIGKILL, what was in flight is held as uncertain, and a person settles it.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.cluster.e2e.containers import kill, run_out_of_memory
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.shop import API_VERSION, Object, Pod, Shop, campaign, config_map, keyed, provider, readers

IN_FLIGHT = 4
# how long the far end takes for a message: so long at first that a kill finds some in flight, and that what there is
# takes longer than two waits
SLOW, QUICK = 1.5, 0
WORKERS = {
    "max": 1,
    "concurrency": IN_FLIGHT,
    "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
}
PEOPLE = 900
KILLED = 128 + signal.SIGKILL


def letters() -> Object:
    """By SMTP, to other people."""
    template = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"}
    messages = [{"channel": "Email", "providerRef": {"name": "mail"}, "template": template}]
    recipients = {"configMapKeyRef": {"name": "others", "key": "readers.csv"}, "format": "CSV"}
    return campaign("letters", workers=WORKERS, messages=messages, recipients=recipients)


def mail(shop: Shop) -> Object:
    smtp = {"host": shop.far_end.host, "port": shop.far_end.smtp, "tls": "None"}
    return provider("mail", type="SMTP", smtp=smtp, timeoutSeconds=5)


def pod_of(shop: Shop, name: str) -> Pod:
    return next(pod for pod in shop.pods() if pod.name.startswith(f"sendonce-{name}-"))


def got(shop: Shop, protocol: str) -> Counter[str]:
    """Who got how many, by one way."""
    accepted = shop.far_end.ledger().accepted().items()
    return Counter({to: times for (to, way, _), times in accepted if way == protocol})


def both_are_in_the_middle(shop: Shop) -> bool:
    return all(got(shop, protocol).total() >= 2 * IN_FLIGHT for protocol in ("http", "smtp"))


@pytest.fixture(scope="module")
def shop(premises: Premises, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Both campaigns in the middle, and both containers killed."""
    people = [config_map(name, **{"readers.csv": readers(PEOPLE)}) for name in ("readers", "others")]
    with premises.shop(tmp_path_factory.mktemp("killed"), "--latency", str(SLOW)) as opened:
        opened.apply(keyed(opened.far_end), mail(opened), *people, campaign("spring", workers=WORKERS), letters())
        opened.until(lambda: both_are_in_the_middle(opened), "both campaigns are in the middle")
        kill(opened, pod_of(opened, "letters"))
        run_out_of_memory(opened, pod_of(opened, "spring"))
        assert max(got(opened, protocol).total() for protocol in ("http", "smtp")) < PEOPLE
        opened.far_end.order(latency=QUICK)
        yield opened


def test_a_container_that_runs_out_of_memory_loses_and_repeats_nothing(shop: Shop) -> None:
    shop.until(lambda: bool(pod_of(shop, "spring").restarts), "the container was started again")
    ended = pod_of(shop, "spring")
    assert ("OOMKilled", KILLED) in zip(ended.why, ended.ended, strict=True)
    deliveries = shop.until_complete("spring")["status"]["deliveries"]
    assert deliveries["sent"] == deliveries["total"] == PEOPLE
    assert got(shop, "http") == Counter({f"p{no}@example.com": 1 for no in range(PEOPLE)})


def test_without_keys_a_killed_container_leaves_what_was_in_flight_uncertain_until_a_person_settles_it(
    shop: Shop,
) -> None:
    deliveries = shop.until_complete("letters")["status"]["deliveries"]
    assert 1 <= deliveries["uncertain"] <= IN_FLIGHT
    assert deliveries["sent"] + deliveries["uncertain"] == deliveries["total"] == PEOPLE
    received = got(shop, "smtp")
    assert max(received.values()) == 1
    assert PEOPLE - deliveries["uncertain"] <= received.total() <= PEOPLE
    order = {"campaignRef": {"name": "letters"}, "type": "Resolve", "deliveries": {"states": ["Uncertain"]}}
    spec = {**order, "resolveAs": "Sent"}
    shop.apply({"apiVersion": API_VERSION, "kind": "NotificationAction", "metadata": {"name": "settle"}, "spec": spec})
    shop.until(lambda: shop.condition("letters", "Complete")[1] == "AllSent", "every message is settled")
    assert shop.get("na", "settle")["status"]["changed"] == deliveries["uncertain"]
    assert shop.get("nc", "letters")["status"]["deliveries"]["sent"] == PEOPLE

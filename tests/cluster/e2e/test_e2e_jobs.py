"""Every document of `examples/` as it stands, from `kubectl apply` to its end, with what it needs beside it.

All are applied at once, into one namespace (the shared account into two), and each test waits for the end of its own.
The far ends have the names of real ones, and TLS with an authority that only the workers' setting makes them trust. A
deadline that has passed by now can only be seen to be kept; then the rest is shown with a later one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cluster.e2e import jobs, travellers
from tests.cluster.e2e.files import SIGNATURE, files
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.shop import Object, Shop
from tests.cluster.e2e.trust import NAMES

LABELS = {"sendonce.dev/twilio": "yes"}
FIELDS = ("to", "To", "message.token")
AT_ONCE = ("breach-notice-urgent", "line-then-email", "push-1500000-presigned-ndjson", "query-another-database")
NEWSLETTER, CANARY, FLASH = "newsletter-2026-12", "spring-canary", "flash-sms"


@dataclass(frozen=True)
class Market:
    """The namespace of all jobs, and the other one that shares the account at Twilio.

    `late`: whether the deadline of the SMS had passed when they were applied.
    """

    shop: Shop
    other: Shop
    late: bool

    def got(self, addresses: Iterable[str]) -> Counter[str]:
        """How many each of these people has got."""
        asked, accepted = set(addresses), self.shop.far_end.ledger().accepted().items()
        return Counter({to: times for (to, _, _), times in accepted if to in asked})


def options(chain: Path) -> list[str]:
    tls = ["--https", "--http-port", "443", "--smtp-tls", "starttls", "--tls-certificate", str(chain)]
    faces = ["--style", "auto", "--key-header", "X-Line-Retry-Key"]
    return [*tls, *faces, *(word for field in FIELDS for word in ("--to-field", field))]


def once(addresses: list[str]) -> Counter[str]:
    return Counter(dict.fromkeys(addresses, 1))


def as_of_today(name: str) -> Object:
    """The one document of an example, with a later deadline if its own has passed."""
    (document,) = jobs.documents(name)
    return jobs.later(document) if jobs.is_over(document) else document


def smaller(document: Object, count: int) -> Object:
    """The same campaign for fewer people, under another name."""
    recipients = {**document["spec"]["recipients"], "expected": {"min": count - 10, "max": count + 10}}
    return {**document, "metadata": {"name": "spring-small"}, "spec": {**document["spec"], "recipients": recipients}}


def secrets(url: str, dsn: str) -> list[Object]:
    return [
        jobs.secret("spring-url", url=url),
        jobs.secret("crm-readonly", dsn=dsn),
        jobs.secret("line", token="the-channel-s"),
        jobs.secret("sendonce-twilio", apiKeySID="SK" + 32 * "0", apiKeySecret="the-account-s"),
    ]


def begin(market: Market, url: str, dsn: str) -> None:
    """Apply it all. The newsletter waits for its provider, so that its people are tried once only."""
    (spring,) = jobs.documents("push-1500000-presigned-ndjson")
    campaigns = [document for name in AT_ONCE for document in jobs.documents(name)]
    campaigns += [as_of_today("newsletter-configmap-csv"), jobs.documents("canary-then-promote")[0]]
    market.shop.apply(*jobs.lists(), *secrets(url, dsn), *campaigns, smaller(spring, jobs.TOKENS))
    market.shop.kubectl("patch", "nc", NEWSLETTER, "--type=merge", "-p", '{"spec": {"retry": {"maxAttempts": 1}}}')
    market.shop.apply(*travellers.objects(), *jobs.documents("four-channels"))
    market.shop.apply(*jobs.documents("shared-twilio-account"), *jobs.providers(market.shop.far_end))
    market.shop.apply(*jobs.documents("sms-quiet-hours-deadline"))
    later = map(jobs.later, jobs.documents("sms-quiet-hours-deadline"))
    market.other.apply(*secrets(url, dsn), jobs.flash(), *later)


@pytest.fixture(scope="module")
def market(premises: Premises, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    folder = tmp_path_factory.mktemp("jobs")
    late = any(map(jobs.is_over, jobs.documents("sms-quiet-hours-deadline")))
    premises.cluster.names(premises.host, *NAMES)
    url = f"https://files.example.com:{{port}}/{jobs.write_tokens(folder)}?X-Signature={SIGNATURE}"
    with (
        premises.shop(folder, *options(premises.trust.chain), labels=LABELS) as shop,
        premises.space(LABELS) as other,
        files(folder, premises.host, premises.trust.chain) as port,
    ):
        premises.add_tenant(other)
        market = Market(shop, Shop(premises.cluster, other, shop.far_end, folder), late)
        begin(market, url.format(port=port), jobs.customers(premises.store))
        yield market
        premises.cluster.kubectl("delete", "cnp", "--all", "--wait=false")


def test_the_breach_notice_reaches_everybody(market: Market) -> None:
    status = market.shop.until_complete("breach-2026-11-29")["status"]
    assert status["deliveries"]["sent"] == status["deliveries"]["total"] == jobs.SOME
    people = jobs.emails("b", jobs.SOME)
    assert market.got(people) == once(people)


def test_a_query_in_another_database_finds_the_dormant_customers_and_no_other(market: Market) -> None:
    status = market.shop.until_complete("dormant-q4")["status"]
    assert status["deliveries"]["sent"] == status["recipients"]["total"] == jobs.SOME
    dormant = jobs.emails("d", jobs.SOME)
    assert market.got(dormant + jobs.emails("active", jobs.SOME)) == once(dormant)


def test_email_follows_where_line_refuses_or_is_not_known(market: Market) -> None:
    status = market.shop.until_complete("notice-42")["status"]
    third = jobs.SOME // 3
    assert status["deliveries"]["sent"] == jobs.SOME
    assert status["deliveries"]["failed"] == third, "LINE's refusals"
    by_line = [line for _, line, _ in jobs.members()[:third]]
    by_email = [email for _, _, email in jobs.members()[third:]]
    addresses = [address for _, *both in jobs.members() for address in both]
    assert market.got(addresses) == once(by_line + by_email)


def test_four_channels_reach_everybody_once_and_the_text_message_never_beside_the_push(market: Market) -> None:
    status = market.shop.until_complete(travellers.CAMPAIGN)["status"]
    ledger = market.shop.far_end.ledger().accepted().items()
    for channel, path in travellers.PATHS.items():
        wanted = Counter(travellers.sent(channel))
        got = {to: times for (to, _, at), times in ledger if at.endswith(path) and to in wanted}
        assert got == dict.fromkeys(wanted, 1), channel
    counts = {channel: len(list(travellers.sent(channel))) for channel in travellers.PATHS}
    assert counts == {"Push": 20, "SMS": 19, "Email": 38, "Line": 39}
    mails = [row for row in market.shop.far_end.ledger().rows if row.path == travellers.PATHS["Email"]]
    assert len({row.arrived for row in mails}) < len(mails) / 2, "several of them came in one request"
    pushed = {person.phone for person in travellers.PEOPLE[: travellers.WITH_APP]}
    assert not market.got(pushed), "a fallback beside what it falls back from"
    deliveries = status["deliveries"]
    assert deliveries["sent"] == sum(counts.values())
    assert deliveries["failed"] == travellers.APP_GONE + 1, "apps that are gone, and one email address"
    assert deliveries["total"] == deliveries["sent"] + deliveries["failed"]
    assert status["recipients"]["total"] == len(travellers.PEOPLE)


def test_a_list_that_is_much_shorter_than_expected_is_not_sent(market: Market) -> None:
    market.shop.until(lambda: market.shop.condition("spring", "Failed")[0] == "True", "spring has ended")
    assert market.shop.condition("spring", "Failed")[1] == "UnexpectedCount"
    assert market.shop.get("nc", "spring")["status"]["deliveries"]["sent"] == 0


def test_a_presigned_list_of_push_tokens_reaches_each_once(market: Market) -> None:
    status = market.shop.until_complete("spring-small")["status"]
    assert status["deliveries"]["sent"] == jobs.TOKENS
    assert market.got(jobs.tokens()) == once(jobs.tokens())


def test_the_newsletter_is_retried_and_resolved_by_actions_and_reaches_each_reader_once(market: Market) -> None:
    shop = market.shop
    before = shop.until_complete(NEWSLETTER)["status"]["deliveries"]
    assert (before["failed"], before["uncertain"]) == (len(jobs.BUSY), len(jobs.LOST))
    actions = jobs.documents("retry-and-resolve")
    shop.apply(*actions)
    for action in actions:
        name = action["metadata"]["name"]
        shop.until(lambda: shop.condition(name, "Complete", "na")[0] == "True", f"{name} is applied")  # noqa: B023
    shop.until(
        lambda: shop.get("nc", NEWSLETTER)["status"]["deliveries"]["sent"] == jobs.READERS, "all of them are sent"
    )
    shop.until_complete(NEWSLETTER)
    assert market.got(jobs.readers()) == once(jobs.readers())


def test_the_canary_is_sent_and_the_rest_when_a_person_promotes_it(market: Market) -> None:
    shop, (_, promote) = market.shop, jobs.documents("canary-then-promote")
    shop.until(lambda: shop.condition(CANARY, "Ready")[1] == "Observing", "the canary is observed")
    people = jobs.emails("c", jobs.CANARY + jobs.FOLLOWING)
    assert market.got(people).total() == jobs.CANARY
    shop.apply(promote)
    deliveries = shop.until_complete(CANARY)["status"]["deliveries"]
    assert deliveries["sent"] == jobs.CANARY + jobs.FOLLOWING
    assert market.got(people) == once(people)


def test_sms_go_to_who_is_awake_and_expire_for_who_sleeps_past_the_deadline(market: Market) -> None:
    shop = market.other
    shop.until(lambda: shop.condition(FLASH, "Ready")[1] == "QuietHours", "only sleepers are left")
    assert shop.get("nc", FLASH)["status"]["deliveries"]["sent"] == jobs.SOME
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    shop.kubectl("patch", "nc", FLASH, "--type=merge", "-p", f'{{"spec": {{"schedule": {{"deadline": "{soon}"}}}}}}')
    deliveries = shop.until_complete(FLASH)["status"]["deliveries"]
    assert (deliveries["sent"], deliveries["expired"]) == (jobs.SOME, jobs.SOME)


def test_sms_whose_deadline_has_passed_are_not_sent(market: Market) -> None:
    if not market.late:
        pytest.skip("the deadline of the document is still ahead")
    market.shop.until(lambda: market.shop.condition(FLASH, "Failed")[0] == "True", "it has ended")
    assert market.shop.condition(FLASH, "Failed")[1] == "DeadlineBeforeImport"
    assert market.shop.get("nc", FLASH)["status"]["deliveries"]["sent"] == 0


def test_nobody_got_anything_twice(market: Market) -> None:
    assert not market.shop.far_end.ledger().duplicates()

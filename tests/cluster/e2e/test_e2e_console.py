"""The console on the cluster, in a real browser: somebody of the support signs in, finds out, and mends.

The chart's console, its own login of the database, the API server's word on who may what, a campaign under way at a far
end that refuses some people, and Chromium.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.cluster.e2e.forwarding import forwarded
from tests.cluster.e2e.outside import Database
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.release import SYSTEM, Release
from tests.cluster.e2e.shop import Object, Shop, campaign, config_map, keyed, readers
from tests.cluster.e2e.trust import Trust
from tests.cluster.manifests import as_list
from tests.cluster.reach import Cluster
from tests.console_cases.axe import EVERYTHING, JUDGE, script
from tools.browser import OPTIONS, chromium, complaint

from sendonce_cli.simulate.outcomes import Outcome

PEOPLE = 700
PATIENCE = 60_000
# twenty at once, and then one in a second: the campaign is under way for longer than the test may take
SLOW = [{"messages": 1, "periodSeconds": 1, "burst": 40}]
RIGHTS = [
    {"apiGroups": ["sendonce.dev"], "resources": ["notificationcampaigns"], "verbs": ["get"]},
    {"apiGroups": ["sendonce.dev"], "resources": ["notificationcampaigns/recipients"], "verbs": ["get"]},
    {"apiGroups": ["sendonce.dev"], "resources": ["notificationactions"], "verbs": ["create"]},
]


@pytest.fixture(scope="module")
def browser_here() -> None:
    why = complaint()
    if why and os.environ.get("SENDONCE_REQUIRE_ALL_LEVELS") == "1":
        pytest.fail(why)
    if why:
        pytest.skip(why)


@pytest.fixture(scope="module")
def console(browser_here: None, node: Cluster, release: Release, store: Database) -> Iterator[str]:
    """Yield the address of the chart's console."""
    release.furnish()
    done = release.put({"console": {"enabled": True}, "store": {"address": store.address}})
    assert done.returncode == 0, f"{done.stderr}\n{release.shown()}"
    with forwarded(node, SYSTEM, "sendonce-console", 80) as address:
        yield address
    # it would hold connections to the database for as long as it runs
    node.kubectl("-n", SYSTEM, "scale", "deployment/sendonce-console", "--replicas=0")


@pytest.fixture
def shop(console: str, node: Cluster, store: Database, host: str, trusted: Trust, tmp_path: Path) -> Iterator[Shop]:
    options = ("--latency", "0.02", "--chance", "permanent=0.2", "--seed", "7")
    with Premises(node, store, host, trusted).shop(tmp_path, *options) as opened:
        yield opened


@pytest.fixture
def page(browser_here: None) -> Iterator[Page]:
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        stack.callback(browser.close)
        opened = browser.new_page()
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield opened


def support(shop: Shop) -> list[Object]:
    """A service account with a plain Role, as docs/console.md has it."""
    rbac = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": "support", "namespace": shop.namespace}
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": "support"}, "rules": RIGHTS}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "support"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "support"},
        "subjects": [account],
    }
    return [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "support"}}, role, binding]


def sign_in(page: Page, console: str, token: str) -> None:
    """With a token that is no good, and then with a good one."""
    page.goto(console)
    page.get_by_label("A token of yours").fill("no-token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The token was not accepted")
    assert violations(page) == []
    page.get_by_label("A token of yours").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("h1")).to_have_text("Campaigns")


def violations(page: Page) -> list[str]:
    page.evaluate(script())
    found: list[str] = page.evaluate(JUDGE, EVERYTHING)
    return found


def begin(shop: Shop) -> None:
    """Have a campaign under way, some of whose people were refused."""
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    shop.kubectl("apply", "-f-", stdin=as_list(*support(shop)))
    shop.apply(keyed(shop.far_end, limits=SLOW), people, campaign("spring", workers={"max": 1, "concurrency": 16}))
    shop.until(lambda: bool(shop.far_end.ledger().with_outcome(Outcome.REFUSED)), "somebody is refused")
    shop.until_received(1)


@pytest.mark.timeout(600)
def test_support_signs_in_finds_who_was_refused_and_sends_it_again(shop: Shop, console: str, page: Page) -> None:
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    begin(shop)
    token = shop.kubectl("create", "token", "support", "--audience=sendonce-console").strip()
    sign_in(page, console, token)
    # --- the campaign is under way, and the page follows it
    page.get_by_role("link", name="spring").click()
    expect(page.locator("h1")).to_have_text("spring")
    before = page.locator("dl.figures").inner_text()
    expect(page.locator("dl.figures")).not_to_have_text(before)
    expect(page.locator("#why")).to_be_visible()
    # --- who was refused, and in what words
    page.get_by_role("link", name="Dead letters").click()
    page.locator("td.main a").first.click()
    person = page.locator("td.main a").first
    who = person.inner_text()
    person.click()
    expect(page.locator(".answer")).to_contain_text("refused it for good")
    address = page.locator(".lead .mono").inner_text()
    # --- the far end takes them now: try again
    shop.far_end.order(chances={"permanent": 0})
    page.get_by_role("link", name="Try again").click()
    expect(page.locator("form.confirm")).to_contain_text("1 delivery")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main")).to_contain_text("Done")
    assert len(shop.far_end.ledger().rows) < PEOPLE
    shop.apply(keyed(shop.far_end))
    page.locator("#find").fill(address)
    page.locator("#find").press("Enter")
    expect(page.locator("h1")).to_have_text(who)

    def is_sent() -> bool:
        page.reload()
        return "Sent" in page.locator(".answer-title").inner_text()

    shop.until(is_sent, f"{address} is sent")
    accepted = shop.far_end.ledger().accepted()
    assert [times for (to, _, _), times in accepted.items() if to == address] == [1]
    # --- who did it is on record, and nobody else's campaigns are there
    action = json.loads(shop.kubectl("get", "na", "-o", "json"))["items"][0]
    by = action["metadata"]["annotations"]["sendonce.dev/requested-by"]
    assert by == f"system:serviceaccount:{shop.namespace}:support"
    page.goto(f"{console}/ns/kube-system/campaigns/spring")
    expect(page.locator("h1")).to_contain_text("There is nothing to see in namespace kube-system")
    page.get_by_role("link", name="All campaigns").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("h1")).to_have_text("Sign in")
    assert said == []

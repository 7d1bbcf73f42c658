"""What goes wrong for real makes the right alert fire in a real Prometheus, and says whom it concerns.

Every query of the dashboard is asked of that Prometheus, and every command of the runbooks is run beside it. The tests
stand in an order: the scene is looked at first, then mended by the runbooks, then store and operator are taken away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.cluster.monitoring.chart_files import ROOT, alert_names, panel_queries, rule_of
from tests.cluster.monitoring.exposed import Exposed, exposed
from tests.cluster.monitoring.runbook import SECTIONS, run, scripts, sections, shell, without_logs
from tests.cluster.monitoring.scene import MANY, Scene

from sendonce_cli.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

# how a campaign of the scene goes wrong → the alert
WRONG = (
    ("frozen", "SendonceBatchHeartbeatOld"),
    ("hanging", "SendonceQueueNotDraining"),
    ("secretless", "SendonceCredentialsRefused"),
    ("doomed", "SendonceDeadLetters"),
    ("doomed", "SendonceUncertainWaiting"),
    ("slow", "SendonceDeadlineAtRisk"),
    ("slow", "SendoncePaceNotReached"),
    ("refused", "SendonceCampaignStalled"),
)


@pytest.mark.parametrize(("campaign", "alert"), WRONG)
async def test_the_alert_fires_and_names_the_campaign(scene: Scene, campaign: str, alert: str) -> None:
    await scene.prometheus.until_fires(alert, namespace=scene.stage.namespace, campaign=campaign)


async def test_a_provider_that_asks_for_pause_after_pause_is_told_by_its_name(scene: Scene) -> None:
    wanted = {"namespace": scene.stage.namespace, "provider": "throttled"}
    await scene.prometheus.until_fires("SendonceProviderPaused", **wanted)


async def test_what_the_gateway_turns_away_is_told(scene: Scene) -> None:
    await scene.prometheus.until_fires("SendonceReceiptsRefused", provider="postmark", why="bad_signature")
    await scene.prometheus.until_fires("SendonceEnqueueRefused", status="401")
    firing = await scene.prometheus.firing()
    assert {"telegram"} & {one["provider"] for one in firing if "provider" in one} == set(), "it is let in"


async def test_frozen_workers_leave_a_batch_stuck_past_its_lease_until_they_go_on(scene: Scene) -> None:
    concerns = {"namespace": scene.stage.namespace, "campaign": "frozen"}
    await scene.prometheus.until_fires("SendonceBatchStuck", **concerns)
    await scene.simulators["frozen"].control({"latency": 0})
    scene.thaw("frozen")
    await scene.until_sent("frozen", MANY)
    await scene.stage.until_complete("frozen")
    await scene.prometheus.until_quiet("SendonceBatchStuck", **concerns)
    await scene.prometheus.until_quiet("SendonceBatchHeartbeatOld", **concerns)


# --- the dashboard ---------------------------------------------------------------------------------------------------
QUERIES = sorted(set(panel_queries()))


def filled_in(query: str, namespace: str) -> str:
    """A panel's query as Grafana asks it, with everything chosen."""
    chosen = {"$__rate_interval": "30s", "$namespace": namespace, "$campaign": ".*"}
    for variable, value in chosen.items():
        query = query.replace(variable, value)
    assert "$" not in query
    return query


async def test_every_query_of_the_dashboard_returns_data(scene: Scene) -> None:
    for _, query in QUERIES:
        # a scrape that a busy machine was too slow for leaves nothing until the next one
        await scene.prometheus.until_scraped(filled_in(query, scene.stage.namespace))


async def test_the_expressions_of_the_rules_return_data_without_their_thresholds(scene: Scene) -> None:
    """What an alert looks at is there: it is quiet because all is well, and not because a label is misspelt."""
    for alert in set(alert_names()) - {"SendonceOperatorDown"}:
        for metric in {one.name for one in exposed() if one.name in rule_of(alert)["expr"]}:
            assert await scene.prometheus.query(metric), f"{alert}: {metric}"


@pytest.mark.parametrize("metric", exposed(), ids=lambda one: one.name)
async def test_a_metric_has_the_labels_of_the_documentation(scene: Scene, metric: Exposed) -> None:
    name = f"{metric.name}_count" if metric.kind == "histogram" else metric.name
    found = await scene.prometheus.until_scraped(name)
    own = {"__name__", "instance", "job"} | (set() if "namespace" in metric.labels else {"namespace"})
    assert {frozenset(labels) - own for labels, _ in found} == {frozenset(metric.labels)}


# --- the runbooks ----------------------------------------------------------------------------------------------------
# whom a page is about, where its alert names a campaign or a provider
ABOUT = {
    "SendonceCampaignStalled": "secretless",
    "SendonceCredentialsRefused": "secretless",
    "SendonceQueueNotDraining": "hanging",
    "SendonceBatchHeartbeatOld": "frozen",
    "SendonceBatchStuck": "frozen",
    "SendonceDeadLetters": "doomed",
    "SendonceUncertainWaiting": "doomed",
    "SendoncePaceNotReached": "slow",
    "SendonceDeadlineAtRisk": "slow",
    "SendonceProviderPaused": "throttled",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installed(scene: Scene) -> AsyncIterator[Scene]:
    """Yield the scene with what `deploy/operator.yaml` installs, of which no Pod runs."""
    manifest = str(ROOT / "deploy" / "operator.yaml")
    kubectl = scene.stage.cluster.kubectl
    await asyncio.to_thread(kubectl, "apply", "-f", manifest)
    yield scene
    await asyncio.to_thread(kubectl, "delete", "-f", manifest, "--timeout=60s")


@pytest.mark.parametrize("alert", alert_names())
async def test_the_commands_of_its_runbook_work(installed: Scene, alert: str) -> None:
    name = ABOUT.get(alert, "frozen")
    names = {
        "NAMESPACE": installed.stage.namespace,
        "CAMPAIGN": name,
        "PROVIDER": name,
        "SYSTEM": "sendonce-system",
        "OPERATOR": "deployment/sendonce-operator",
        "PROMETHEUS": installed.prometheus.url,
        "SENDONCE_DATABASE": installed.stage.dsn,
    }
    environment = shell(names, installed.stage.cluster.kubeconfig)
    page = sections(alert)
    assert tuple(page) == SECTIONS
    assert [len(script.splitlines()) for script in scripts(page["Look"])] == [3]
    assert scripts(page["Prove that it is fixed"])
    for text in page.values():
        for script in scripts(text):
            await run(without_logs(script), environment)


# --- without API server, without store, without operator -------------------------------------------------------------
async def test_an_api_server_that_is_away_is_told_in_two_ways(scene: Scene) -> None:
    cluster = scene.stage.cluster
    await asyncio.to_thread(cluster.stop, "kube-apiserver", grace=0)
    try:
        await scene.prometheus.until_fires("SendonceWatchSilent")
        await scene.prometheus.until_fires("SendonceReconcileErrors", why="ApiServer")
    finally:
        await asyncio.to_thread(cluster.start, "kube-apiserver")
    await scene.stage.until_true(scene.stage.is_served, "the API server is ready again")
    await scene.prometheus.until_quiet("SendonceWatchSilent")
    await scene.prometheus.until_quiet("SendonceReconcileErrors")


async def test_a_database_that_is_away_is_told_and_one_that_is_back_too(
    scene: Scene, postgres: EmbeddedPostgres
) -> None:
    await postgres.stop()
    try:
        await scene.prometheus.until_fires("SendonceDatabaseUnreachable")
        await scene.prometheus.until_fires("SendonceGatewayDown")
        await scene.prometheus.until_fires("SendonceGatewayErrors", route="/u/{token}")
    finally:
        await postgres.start()
    for alert in ("SendonceDatabaseUnreachable", "SendonceGatewayDown", "SendonceGatewayErrors"):
        await scene.prometheus.until_quiet(alert)


async def test_an_operator_that_is_gone_is_told(scene: Scene) -> None:
    await scene.operator.kill()
    await scene.prometheus.until_fires("SendonceOperatorDown")

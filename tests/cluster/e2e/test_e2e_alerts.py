"""A stuck job on the cluster makes the right alert fire; Prometheus scrapes what docs/monitoring.md says."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from tests.cluster.e2e.shop import Pod, Shop, campaign, config_map, keyed, provider, readers
from tests.cluster.monitoring.chart_files import PAGE, alert_names
from tests.cluster.monitoring.programs import program
from tests.cluster.monitoring.prometheus import Prometheus
from tests.cluster.monitoring.runbook import only_logs, run, scripts, sections, shell
from tools.cluster import cgroups, parts

# How long the far end takes for a message until all is looked at: what there is takes as long as the test may.
SLOW = 2
PEOPLE = 1200
NAME = "spring"
# a heartbeat is due every five seconds, and is old after fifteen here
SHORTER = 8


@pytest.fixture(scope="session")
def prometheus_installed() -> str:
    """Skip, or fail, where there is no Prometheus."""
    return program("prometheus")


def rules_of_the_page() -> list[dict[str, Any]]:
    """How docs/monitoring.md chooses among the ports of Pods."""
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"))
    found = next(block for block in map(yaml.safe_load, blocks) if "scrape_configs" in block)
    (job,) = found["scrape_configs"]
    rules: list[dict[str, Any]] = job["relabel_configs"]
    return rules


def is_kept(labels: Mapping[str, str]) -> bool:
    """Whether the rules let a port be scraped. Debian's Prometheus can't ask a cluster itself."""
    for rule in rules_of_the_page():
        joined = ";".join(labels.get(name, "") for name in rule["source_labels"])
        if bool(re.fullmatch(rule["regex"], joined)) != (rule["action"] == "keep"):
            return False
    return True


def kept_ports(pod: Mapping[str, Any]) -> list[int]:
    """The ports of a Pod that are to be scraped."""
    labels = {re.sub(r"\W", "_", key): value for key, value in pod["metadata"].get("labels", {}).items()}
    meta = {f"__meta_kubernetes_pod_label_{key}": value for key, value in labels.items()}
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]
    name = "__meta_kubernetes_pod_container_port_name"
    return [port["containerPort"] for port in ports if is_kept({**meta, name: port.get("name", "")})]


def targets(shop: Shop) -> list[str]:
    """Addresses of all ports that are to be scraped, of Pods that have an address by now."""
    pods = json.loads(shop.kubectl("get", "pods", "--all-namespaces", "-o", "json"))["items"]
    there = [pod for pod in pods if "podIP" in pod["status"]]
    return [f"{pod['status']['podIP']}:{port}" for pod in there for port in kept_ports(pod)]


@pytest_asyncio.fixture
async def prometheus(prometheus_installed: str, shop: Shop, tmp_path: Path) -> AsyncIterator[Prometheus]:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    running = Prometheus(folder, shorter=SHORTER)
    try:
        await running.start()
        yield running
    finally:
        await running.stop()


def signalled(shop: Shop, pod: Pod, number: signal.Signals) -> int:
    """Send a signal to all processes of a Pod, which this machine sees; returns how many there are."""
    if shop.cluster.state is None:
        pytest.skip("processes of Pods are found on a node of the tests' own only")
    at = parts.known(shop.cluster.state).addresses
    assert at is not None
    files = (file for folder in cgroups.present(at.group) for file in folder.rglob("cgroup.procs"))
    pids = {int(pid) for file in files if pod.container in str(file) for pid in file.read_text("ascii").split()}
    for pid in pids:
        os.kill(pid, number)
    return len(pids)


async def look_at_logs(shop: Shop) -> None:
    """The commands of the runbooks that need Pods that run."""
    names = {"NAMESPACE": shop.namespace, "CAMPAIGN": NAME}
    names |= {"SYSTEM": "sendonce-system", "OPERATOR": "deployment/sendonce-operator"}
    environment = shell(names, shop.cluster.kubeconfig)
    commands = {only_logs(script) for alert in alert_names() for script in scripts(sections(alert)["Look"])} - {""}
    assert len(commands) > 1
    for command in commands:
        await run(command, environment)


@pytest.mark.timeout(600)  # two waits for what a cluster takes its time for
async def test_a_frozen_worker_and_a_missing_secret_are_told_by_their_alerts(
    shop: Shop, prometheus: Prometheus
) -> None:
    shop.far_end.order(latency=SLOW)
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    http = keyed(shop.far_end)["spec"]["http"]
    secretless = provider("secretless", type="HTTP", http=http, credentialsSecretRef={"name": "no-such-secret"})
    summer = campaign("summer")
    summer["spec"]["messages"][0]["providerRef"] = {"name": "secretless"}
    shop.apply(keyed(shop.far_end), secretless, people, summer)
    shop.apply(campaign(NAME, workers={"max": 1, "concurrency": 4}))
    shop.until_received(1)
    (worker,) = [pod for pod in shop.pods() if NAME in pod.name]
    prometheus.add(*targets(shop))
    for wanted in ("sendonce_store_up", f'sendonce_deliveries_total{{campaign="{NAME}"}}'):
        await prometheus.until_scraped(wanted)
    assert signalled(shop, worker, signal.SIGSTOP)
    concerns = {"namespace": shop.namespace, "campaign": NAME}
    await prometheus.until_fires("SendonceBatchHeartbeatOld", **concerns)
    signalled(shop, worker, signal.SIGCONT)
    await prometheus.until_fires("SendonceCredentialsRefused", namespace=shop.namespace, campaign="summer")
    await look_at_logs(shop)
    shop.far_end.order(latency=0)
    await prometheus.until_quiet("SendonceBatchHeartbeatOld", **concerns)
    shop.until_complete(NAME)
    shop.assert_each_got_one(PEOPLE)

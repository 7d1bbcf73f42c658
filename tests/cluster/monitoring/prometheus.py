"""A real Prometheus that scrapes every second, with the chart's rules made quick.

In: targets, which may come and go. Out: what a query returns, and which alerts fire.
"""

from __future__ import annotations

import asyncio
import json
import re
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from tests.cluster.monitoring.chart_files import ALERTS, GATEWAY_ALERTS
from tests.cluster.monitoring.programs import program
from tests.cluster.operator.cast import free_port

PATIENCE = 120.0
_RANGE = re.compile(r"\[(\d+)m\]")
_THRESHOLD = re.compile(r"(_seconds\)?)(\s*)> (\d+)")
Labels = Mapping[str, str]


def quick(rules: str, shorter: int) -> str:
    """The rules with all durations shortened, and nothing else changed."""
    rules = re.sub(r"(?m)^(\s+)for: \d+m$", r"\1for: 1s", rules)
    # a range holds several scrapes
    rules = _RANGE.sub(lambda found: f"[{max(int(found[1]), 10)}s]", rules)
    return _THRESHOLD.sub(lambda found: f"{found[1]}{found[2]}> {int(found[3]) / shorter}", rules)


@dataclass
class Prometheus:
    """One server; `folder` has its files.

    `shorter`: by which thresholds in seconds are divided.
    """

    folder: Path
    shorter: int = 60
    port: int = field(default_factory=free_port)
    targets: list[str] = field(default_factory=list)
    process: Process | None = None
    # one for all questions: making one takes longer than an answer
    client: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(timeout=30))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        command = program("prometheus")
        for rules in (ALERTS, GATEWAY_ALERTS):
            (self.folder / rules.name).write_text(quick(rules.read_text("utf-8"), self.shorter), "utf-8")
        self._write_targets()
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(self._configuration()), "utf-8")
        options = [
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with (self.folder / "prometheus.log").open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                command, *options, stdin=DEVNULL, stdout=log, stderr=log
            )
        await self._until_ready()

    def _configuration(self) -> dict[str, Any]:
        found = {"files": [str(self.folder / "targets.json")], "refresh_interval": "1s"}
        # as the PodMonitors have it
        job = {"job_name": "sendonce", "honor_labels": True, "file_sd_configs": [found]}
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        return {"global": every, "rule_files": [f"{self.folder}/alerts*.yaml"], "scrape_configs": [job]}

    def add(self, *targets: str) -> None:
        """Scrape these too."""
        self.targets.extend(targets)
        self._write_targets()

    def _write_targets(self) -> None:
        # what a Prometheus in a cluster adds to every target
        group = {"targets": self.targets, "labels": {"namespace": "monitored"}}
        whole = self.folder / "targets.json.new"
        whole.write_text(json.dumps([group]), "utf-8")
        whole.rename(self.folder / "targets.json")

    async def _until_ready(self) -> None:
        async with asyncio.timeout(60):
            while True:
                assert self.process is None or self.process.returncode is None, (
                    self.folder / "prometheus.log"
                ).read_text()
                try:
                    if (await self.client.get(f"{self.url}/-/ready")).is_success:
                        return
                except httpx.HTTPError:
                    pass
                await asyncio.sleep(0.1)

    async def query(self, expression: str) -> list[tuple[Labels, float]]:
        """The samples of an instant query; AssertionError with its complaint if it is none."""
        answer = (await self.client.get(f"{self.url}/api/v1/query", params={"query": expression})).json()
        assert answer["status"] == "success", f"{expression}: {answer}"
        return [(one["metric"], float(one["value"][1])) for one in answer["data"]["result"]]

    async def until_scraped(self, expression: str) -> list[tuple[Labels, float]]:
        """Wait until this returns something, and return it."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not (found := await self.query(expression)):
            assert asyncio.get_running_loop().time() < end, f"{expression} returns nothing; targets: {self.targets}"
            await asyncio.sleep(0.2)
        return found

    async def firing(self) -> list[Labels]:
        """The labels of all alerts that fire."""
        return [labels for labels, _ in await self.query('ALERTS{alertstate="firing"}')]

    async def until_fires(self, alert: str, **labels: str) -> None:
        """Wait until an alert fires with these labels among its own."""
        await self._until(alert, labels, fires=True)

    async def until_quiet(self, alert: str, **labels: str) -> None:
        """Wait until an alert with these labels fires no longer."""
        await self._until(alert, labels, fires=False)

    async def _until(self, alert: str, labels: Labels, *, fires: bool) -> None:
        wanted, firing = {"alertname": alert, **labels}, await self.firing()
        end = asyncio.get_running_loop().time() + PATIENCE
        while any(wanted.items() <= found.items() for found in firing) != fires:
            assert asyncio.get_running_loop().time() < end, (
                f"{wanted}: not so within {PATIENCE} s; what fires: {firing}"
            )
            await asyncio.sleep(0.2)
            firing = await self.firing()

    async def stop(self) -> None:
        """End it."""
        await self.client.aclose()
        if self.process is not None and self.process.returncode is None:
            self.process.terminate()
            await self.process.wait()

"""`sendonce run` through a named provider, with real worker processes, against a simulated far end with its manners."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

TOKEN = "good-channel-access-token"
RETRY = {"maxAttempts": 3, "initialDelaySeconds": 1, "factor": 1, "maxDelaySeconds": 1}


@dataclass(frozen=True, slots=True)
class Line:
    """A simulated LINE."""

    port: int
    ledger: Path

    def accepted(self, campaign: str) -> list[str]:
        rows = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return sorted(row["to"] for row in rows if row["outcome"] == "accepted" and row["to"].endswith(f"-{campaign}"))


@pytest.fixture(scope="module")
def far_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    file = tmp_path_factory.mktemp("far-end") / "ledger.ndjson"
    options = ["--style", "line", "--key-header", "X-Line-Retry-Key", "--token", TOKEN]
    command = [sys.executable, "-m", "sendonce_cli.simulate", "--ledger", str(file), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield Line(json.loads(process.stdout.readline())["http"], file)
        process.terminate()


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "sendonce.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def documents(name: str, people: list[str], port: int, secret: dict[str, str]) -> list[dict[str, Any]]:
    message = {"channel": "Line", "providerRef": {"name": f"line-{name}"}, "template": {"text": "Hello {{ name }}"}}
    recipients = [{"id": one, "line": f"{one}-{name}", "variables": {"name": one}} for one in people]
    provider = {
        "type": "Line",
        "line": {"baseURL": f"http://127.0.0.1:{port}"},
        "credentialsSecretRef": {"name": "line"},
    }
    campaign = {
        "category": "Transactional",
        "recipients": {"inline": recipients},
        "messages": [message],
        "retry": RETRY,
    }
    return [
        document("NotificationCampaign", name, campaign),
        document("NotificationProvider", f"line-{name}", provider),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "line"}, "stringData": secret},
    ]


async def run(folder: Path, dsn: str, wire: list[dict[str, Any]]) -> tuple[int, str, str]:
    file = folder / "campaign.yaml"
    file.write_text(yaml.safe_dump_all(wire), "utf-8")
    options = ["--database", dsn, "--data", str(folder / "data"), "--heartbeat", "0.3", "--workers", "1"]
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "sendonce_cli.main", "run", str(file), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_lost_answer_is_repeated_with_its_key_and_409_says_that_it_was_sent(
    tmp_path: Path, dsn: str, far_end: Line
) -> None:
    people = ["ok+1", "lost+2", "transient1+3", "permanent+4", "garbage+5"]
    code, out, err = await run(tmp_path, dsn, documents("keyed", people, far_end.port, {"channelAccessToken": TOKEN}))
    assert code == 1, err
    assert "keyed: SomeUndelivered: 4 sent, 1 not" in out, out
    assert far_end.accepted("keyed") == sorted(f"{one}-keyed" for one in people if one != "permanent+4")


async def test_a_token_that_was_revoked_stops_the_campaign_and_burns_nobody(
    tmp_path: Path, dsn: str, far_end: Line
) -> None:
    wire = documents("revoked", ["ok+1", "ok+2"], far_end.port, {"channelAccessToken": "revoked-channel-token"})
    code, out, err = await run(tmp_path, dsn, wire)
    assert code != 0
    assert "CredentialsRejected" in out + err
    assert "revoked-channel-token" not in out + err
    assert not far_end.accepted("revoked")


async def test_a_secret_without_its_key_is_said_before_anything_is_sent(
    tmp_path: Path, far_end: Line, sendonce: Any
) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text(yaml.safe_dump_all(documents("keyless", ["ok+1"], far_end.port, {"token": TOKEN})), "utf-8")
    ran = await sendonce("run", str(file))
    assert ran.code != 0
    assert "credentialsSecretRef" in ran.err
    assert "LINE needs channelAccessToken" in ran.err
    assert TOKEN not in ran.out + ran.err
    assert not far_end.accepted("keyless")


async def test_a_provider_of_another_channel_is_refused_at_its_line(
    tmp_path: Path, far_end: Line, sendonce: Any
) -> None:
    wire = documents("unfit", ["ok+1"], far_end.port, {"channelAccessToken": TOKEN})
    wire[0]["spec"]["messages"][0]["channel"] = "SMS"
    wire[0]["spec"]["recipients"] = {"inline": [{"phone": "+15005550010", "variables": {"name": "Ann"}}]}
    file = tmp_path / "campaign.yaml"
    file.write_text(yaml.safe_dump_all(wire), "utf-8")
    ran = await sendonce("preview", str(file))
    assert ran.code != 0
    assert "spec.messages[0].providerRef: is of type Line, which serves Line; name another provider" in ran.err

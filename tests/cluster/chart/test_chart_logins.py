"""Logins of console and gateway in the chart: a Secret that is missing is told; an upgrade keeps the password."""

from __future__ import annotations

import json

import pytest
from tests.cluster.chart.conftest import BARE, Room
from tools.chart.__main__ import CHART

ON = {
    "console": "--set=console.enabled=true",
    "gateway": "--set=gateway.enabled=true,gateway.publicUrl=https://notify.example.com",
}
COMMAND = {"console": "sendonce tenant console", "gateway": "sendonce gateway login"}
ADDRESS = "--set=store.address=postgresql://db.example:5432/sendonce"
MADE = "app.kubernetes.io/component=gateway-login"


@pytest.mark.parametrize("program", ON)
def test_a_login_s_secret_that_is_not_there_is_told_with_the_command_that_makes_it(room: Room, program: str) -> None:
    done = room.install(ON[program], f"--set={program}.database.existingSecret=login")
    assert done.returncode != 0
    assert f"{program}.database.existingSecret: there is no Secret login with a key dsn in namespace" in done.stderr
    assert f"{COMMAND[program]} --database" in done.stderr
    assert room.releases() == []


def passwords(room: Room) -> dict[str, str]:
    secrets = json.loads(room.kubectl("get", "secrets", "-l", "app.kubernetes.io/part-of=sendonce", "-o", "json"))
    return {one["metadata"]["name"]: one["data"]["password"] for one in secrets["items"]}


def test_an_upgrade_keeps_the_passwords_and_makes_the_login_once_more(room: Room) -> None:
    given = [*ON.values(), ADDRESS]
    # no Pod runs here that could make the console's login after the install
    done = room.install(*given, "--no-hooks")
    assert done.returncode == 0, done.stderr
    before = passwords(room)
    assert set(before) == {"sendonce-console", "sendonce-gateway"}
    assert room.kubectl("get", "jobs", "-l", MADE, "-o", "name").split() == ["job.batch/sendonce-gateway-login-1"]
    done = room.helm("upgrade", "sendonce", str(CHART), *BARE, *given, "--no-hooks")
    assert done.returncode == 0, done.stderr
    assert passwords(room) == before
    assert "job.batch/sendonce-gateway-login-2" in room.kubectl("get", "jobs", "-l", MADE, "-o", "name").split()

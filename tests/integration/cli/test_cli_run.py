"""`sendonce run`, with real worker processes, against a simulated far end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sendonce_store import ledger
from sendonce_store.connection import Connection

# five at once, and then one in ten seconds: so many are in the middle for longer than anything is waited for
SLOW = [{"messages": 1, "periodSeconds": 10, "burst": 10}]
MANY = [f"ok+{no}" for no in range(40)]
RETRY = {"maxAttempts": 3, "initialDelaySeconds": 1, "factor": 1, "maxDelaySeconds": 1}


@dataclass(frozen=True, slots=True)
class FarEnd:
    """A running simulator: its SMTP port, and its ledger's file."""

    smtp: int
    ledger: Path

    def accepted(self, campaign: str) -> list[str]:
        """The addresses of a campaign's people whose message was taken, once per hand-off."""
        rows = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return sorted(
            row["to"] for row in rows if row["outcome"] == "accepted" and f"-{campaign}@" in row.get("to", "")
        )

    def tries(self, campaign: str) -> int:
        """How many hand-offs there were to a campaign's people, whatever became of them."""
        rows = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return sum(f"-{campaign}@" in row.get("to", "") for row in rows)


@pytest.fixture(scope="module")
def far_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarEnd]:
    file = tmp_path_factory.mktemp("far-end") / "ledger.ndjson"
    command = [sys.executable, "-m", "sendonce_cli.simulate", "--ledger", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield FarEnd(json.loads(process.stdout.readline())["smtp"], file)
        process.terminate()


@dataclass(slots=True)
class Place:
    """A folder with documents, a database and a far end."""

    folder: Path
    dsn: str
    far_end: FarEnd

    def write(self, name: str, people: list[str], *more: dict[str, Any], limits: Any = (), **spec: Any) -> Path:
        """Write campaign, provider and list into one file; people are `fate+who`."""
        readers = "".join(f"{one}-{name}@example.com,{one}\n" for one in people)
        message = {
            "channel": "Email",
            "providerRef": {"name": f"smtp-{name}"},
            "template": {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Dear {{ name }}"},
        }
        smtp = {"host": "127.0.0.1", "port": self.far_end.smtp, "tls": "None"}
        documents = [
            wire("NotificationCampaign", name, {
                "category": "Marketing",
                "recipients": {"configMapKeyRef": {"name": "readers", "key": "r"}, "format": "CSV"},
                "messages": [message],
                "retry": RETRY,
                **spec,
            }),
            wire("NotificationProvider", f"smtp-{name}", {"type": "SMTP", "smtp": smtp, "limits": list(limits)}),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "readers"},
             "data": {"r": "email,name\n" + readers}},
            *more,
        ]  # fmt: skip
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all(documents), "utf-8")
        return file

    def arguments(self, file: Path, *options: str) -> list[str]:
        data = str(self.folder / "data")
        given = ["run", str(file), "--database", self.dsn, "--data", data, "--heartbeat", "0.3", "--every", "0.2"]
        return [sys.executable, "-m", "sendonce_cli.main", *given, *options]

    async def run(self, file: Path, *options: str) -> "Ran":
        """Run to the end."""
        async with self.running(file, *options) as process:
            out, err = await process.communicate()
        return Ran(process.returncode or 0, out.decode(), err.decode())

    @asynccontextmanager
    async def running(self, file: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
        pipe = asyncio.subprocess.PIPE
        # in a process group of its own, as a terminal has it
        process = await asyncio.create_subprocess_exec(
            *self.arguments(file, *options), stdout=pipe, stderr=pipe, start_new_session=True
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


def wire(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "sendonce.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def place(tmp_path: Path, dsn: str, far_end: FarEnd) -> Place:
    return Place(tmp_path, dsn, far_end)


async def said(process: asyncio.subprocess.Process, words: str) -> str:
    """Read standard error until a line has these words."""
    assert process.stderr is not None
    async for line in process.stderr:
        if words in line.decode():
            return line.decode()
    raise AssertionError(f"never said: {words}")


async def wait_until(conn: Connection, send_key: str, reached: Any) -> Any:
    """Look at a campaign until it is as far as that."""
    async with asyncio.timeout(120):
        while True:
            campaign_id = await ledger.find_campaign(conn, "default", send_key)
            found = await ledger.overview(conn, "default", campaign_id) if campaign_id else None
            if found is not None and reached(found):
                return found
            await asyncio.sleep(0.05)


async def test_everybody_is_sent_to_once_and_the_same_command_again_sends_nothing(place: Place) -> None:
    people = [f"ok+{no}" for no in range(30)]
    file = place.write("all", [*people, "transient1+x"])
    ran = await place.run(file, "--workers", "2")
    assert ran.code == 0, ran.err
    assert "all: AllSent: 31 sent. 31 recipients" in ran.out
    assert "all  AllSent  31/31" in ran.err
    taken = place.far_end.accepted("all")
    assert taken == sorted(f"{one}-all@example.com" for one in [*people, "transient1+x"])
    again = await place.run(file)
    assert again.code == 0
    assert again.out.startswith("AlreadySent: send key 'all' finished at ")
    assert place.far_end.accepted("all") == taken


async def test_what_could_not_be_delivered_ends_with_1_and_its_reasons(place: Place) -> None:
    file = place.write("some", ["ok+1", "permanent+2", "permanent+3", "lost+4"])
    ran = await place.run(file, "--workers", "1", "-o", "json")
    assert ran.code == 1, ran.err
    found = json.loads(ran.out)
    assert (found["reason"], found["exitCode"]) == ("SomeUndelivered", 1)
    states = {name: count for name, count in found["deliveries"].items() if count}
    assert states == {"total": 4, "sent": 1, "failed": 2, "uncertain": 1}
    assert found["topErrors"][0]["code"] == "5.1.1"
    assert "sendonce deadletters some" in found["nextStep"]


async def test_a_send_key_with_other_content_ends_with_5_and_changes_nothing(
    place: Place, conn: Connection, sow: Any, document: Any, sendonce: Any
) -> None:
    await sow([], document=document("key"))
    file = place.write("key", ["ok+1"], limits=[{"messages": 1, "periodSeconds": 60}])
    ran = await sendonce("run", str(file))
    assert ran.code == 5
    assert ran.err.startswith("error: SendKeyConflict: send key 'key'")
    row = await (await conn.execute("SELECT count(*) AS n FROM sendonce.providers WHERE name = 'smtp-key'")).fetchone()
    assert row == {"n": 0}


async def test_ctrl_c_drains_and_the_same_command_continues(place: Place, conn: Connection) -> None:
    file = place.write("slow", MANY, limits=SLOW)
    async with place.running(file, "--workers", "2") as process:
        await wait_until(conn, "slow", lambda c: c.counts.sent >= 3)
        # Ctrl-C reaches the whole group, in which the workers must not be: a second signal would stop them at once
        assert process.pid not in {os.getpgid(worker) for worker in children(process.pid)}
        os.killpg(process.pid, signal.SIGINT)
        out, err = await process.communicate()
    assert process.returncode == 130, err
    assert b"stopping: what is in flight is finished first" in err
    assert "stopped at once" not in (place.folder / "data" / "logs" / "default-slow.log").read_text()
    assert b"deliveries to go: run the same command again to continue" in out
    stopped = await wait_until(conn, "slow", lambda _: True)
    assert stopped.counts.sending == stopped.counts.uncertain == stopped.workers_alive == 0
    assert stopped.counts.pending > 0
    ran = await place.run(place.write("slow", MANY), "--workers", "2")  # and what is left goes at once
    assert ran.code == 0, ran.err
    assert "slow goes on" in ran.err
    assert place.far_end.accepted("slow") == sorted(f"{one}-slow@example.com" for one in MANY)


async def test_a_second_ctrl_c_stops_at_once(place: Place, conn: Connection) -> None:
    file = place.write("hang", ["hang+1"])
    async with place.running(file, "--workers", "1") as process:
        await wait_until(conn, "hang", lambda c: c.counts.sending == 1)
        process.send_signal(signal.SIGTERM)
        await said(process, "stopping")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            await process.communicate()
    assert process.returncode == 130
    workers = await ledger.workers(conn, (await wait_until(conn, "hang", lambda _: True)).id)
    assert [one.stopped_at is None for one in workers] == [False]


async def test_a_worker_that_is_killed_is_replaced_and_known_to_be_gone(place: Place, conn: Connection) -> None:
    file = place.write("kill", MANY, limits=SLOW, uncertainPolicy="Resend")
    async with place.running(file, "--workers", "1") as process:
        campaign = await wait_until(conn, "kill", lambda c: c.counts.sent >= 3)
        (victim,) = children(process.pid)
        os.kill(victim, signal.SIGKILL)
        await said(process, f"worker {victim} was ended by SIGKILL; another takes its place")
        workers = await ledger.workers(conn, campaign.id)
        while len(workers) < 2:
            await asyncio.sleep(0.05)
            workers = await ledger.workers(conn, campaign.id)
        assert [one.stopped_at is None for one in workers] == [True, False]
        process.send_signal(signal.SIGINT)
        await process.communicate()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_workers_end_when_the_command_is_killed(place: Place, conn: Connection) -> None:
    file = place.write("orphan", MANY, limits=SLOW)
    async with place.running(file, "--workers", "1") as process:
        campaign = await wait_until(conn, "orphan", lambda c: c.counts.sent >= 2)
        process.kill()
        await process.wait()
    while not all(one.stopped_at for one in await ledger.workers(conn, campaign.id)):  # noqa: ASYNC110 - another process writes
        await asyncio.sleep(0.05)
    left = await wait_until(conn, "orphan", lambda _: True)
    assert left.counts.pending > 0
    assert left.counts.sending == left.counts.uncertain == 0


async def test_a_canary_waits_for_promotion_with_6(place: Place, sendonce: Any) -> None:
    canary = {"percent": 1, "minRecipients": 2, "observeSeconds": 0}
    file = place.write("canary", [f"ok+{no}" for no in range(6)], rollout={"canary": canary})
    ran = await place.run(file, "--workers", "1")
    assert ran.code == 6, ran.err
    assert "AwaitingPromotion" in ran.out
    assert "`sendonce promote canary` and run the same command again" in ran.out
    assert len(place.far_end.accepted("canary")) == 2
    action = wire("NotificationAction", "go", {"campaignRef": {"name": "canary"}, "type": "Promote"})
    (place.folder / "go.yaml").write_text(yaml.safe_dump(action), "utf-8")
    promoted = await sendonce("run", str(place.folder / "go.yaml"))
    assert (promoted.code, "canary: promoted" in promoted.err) == (0, True)
    ran = await place.run(file, "--workers", "1")
    assert ran.code == 0, ran.err
    assert len(place.far_end.accepted("canary")) == 6


async def test_an_account_error_stops_the_campaign_with_6_and_says_how_to_go_on(place: Place) -> None:
    file = place.write("account", ["account+1"])
    ran = await place.run(file, "--workers", "1")
    assert ran.code == 6, ran.err
    assert "account: CredentialsRejected: " in ran.out
    assert "`sendonce resume account`" in ran.out
    assert place.far_end.tries("account") == 1
    ran = await place.run(file, "--workers", "1", "--resume")
    assert (ran.code, "account: resumed" in ran.err) == (6, True)  # and it is stopped again
    assert place.far_end.tries("account") == 2


async def test_a_retry_in_the_files_opens_a_finished_campaign(place: Place) -> None:
    people, once = ["transient1+1", "ok+2"], {**RETRY, "maxAttempts": 1}
    assert (await place.run(place.write("again", people, retry=once), "--workers", "1")).code == 1
    selection = {"reasons": ["RetriesExhausted"]}
    order = {"campaignRef": {"name": "again"}, "type": "Retry", "deliveries": selection}
    file = place.write("again", people, wire("NotificationAction", "again-1", order), retry=once)
    ran = await place.run(file, "--workers", "1")
    assert ran.code == 0, ran.err
    assert "again: 1 of 1 deliveries changed" in ran.err


async def test_a_document_that_says_cancel_sends_nothing(place: Place) -> None:
    ran = await place.run(place.write("never", ["ok+1"], cancel=True), "--workers", "1")
    assert ran.code == 1, ran.err
    assert "never: Cancelled" in ran.out
    assert place.far_end.accepted("never") == []


async def test_verbose_shows_what_workers_log_instead_of_a_file(place: Place) -> None:
    ran = await place.run(place.write("loud", ["ok+1"]), "--workers", "1", "--verbose")
    assert ran.code == 0, ran.err
    assert "worker ends" in ran.err
    assert not (place.folder / "data" / "logs").exists()


async def test_quiet_prints_no_progress_and_json_is_all_of_standard_output(place: Place) -> None:
    ran = await place.run(place.write("quiet", ["ok+1"]), "--workers", "1", "-q", "-o", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["deliveries"]["sent"] == 1
    (line,) = ran.err.splitlines()
    log = place.folder / "data" / "logs" / "default-quiet.log"
    assert line == f"quiet: 1 workers, log in {log}"
    assert "worker ends" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that the account may enter as which PostgreSQL runs for root; pytest's own are closed to it."""
    with tempfile.TemporaryDirectory(prefix="sendonce-own-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


async def test_without_a_database_an_embedded_one_is_made(place: Place, open_folder: Path) -> None:
    file = place.write("own", ["ok+1"])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SENDONCE_")}
    environment["SENDONCE_DATA"] = str(open_folder / "data")

    async def sendonce(*arguments: str) -> tuple[int, str]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sendonce_cli.main", *arguments, stdout=pipe, stderr=pipe, env=environment
        )
        out, err = await process.communicate()
        return process.returncode or 0, (out + err).decode()

    code, words = await sendonce("run", str(file), "--workers", "1")
    assert code == 0, words
    code, words = await sendonce("status")
    assert (code, "AllSent" in words) == (0, True)
    assert not (open_folder / "data" / "postgres" / "data" / "postmaster.pid").exists()

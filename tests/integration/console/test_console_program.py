"""`sendonce-console` as a process: how it starts, answers without anything that it stands on, and ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path

import aiohttp


def kubeconfig(folder: Path) -> Path:
    """An API server at an address where nothing listens."""
    file = folder / "kubeconfig"
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(document), "utf-8")
    return file


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def start(**env: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SENDONCE", "KUBE"))}
    command = [sys.executable, "-P", "-m", "sendonce_console"]
    return await asyncio.create_subprocess_exec(*command, env={**kept, **env}, stdout=pipe, stderr=pipe)


async def test_it_answers_while_all_else_is_away_and_ends_with_0_when_told_to(tmp_path: Path) -> None:
    port, ops = free_port(), free_port()
    nowhere = "postgresql://console@127.0.0.1:9/sendonce"
    settings = {"SENDONCE_DSN": nowhere, "KUBECONFIG": str(kubeconfig(tmp_path)), "SENDONCE_CONSOLE_HOST": "127.0.0.1"}
    process = await start(**settings, SENDONCE_CONSOLE_PORT=str(port), SENDONCE_OPS_PORT=str(ops))
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session, asyncio.timeout(60):
            while True:
                try:
                    async with session.get("/healthz") as answer:
                        assert answer.status == 200
                        break
                except aiohttp.ClientConnectorError:
                    await asyncio.sleep(0.1)  # it is starting
            async with session.get("/sign-in") as form:
                assert form.status == 200
            async with session.get("/", headers={"Authorization": "Bearer x", "Accept": "text/html"}) as asked:
                assert asked.status == 503
            async with session.get(f"http://127.0.0.1:{ops}/readyz") as ready:
                assert ready.status == 503
                assert "can't be used" in await ready.text()
                assert "API server can't be reached" in await ready.text()
            async with session.get(f"http://127.0.0.1:{ops}/metrics") as metrics:
                told = await metrics.text()
            for line in ("sendonce_console_store_up 0.0", "sendonce_console_api_server_up 0.0"):
                assert line in told
            assert "_created" not in told
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            _, said = await process.communicate()
        assert process.returncode == 0
        lines = [json.loads(line) for line in said.splitlines()]
        assert lines[0]["message"] == f"console listens on port {port}"
        assert "the API server can't be reached: ClientConnectorError" in [line["message"] for line in lines]
        assert lines[-1]["message"] == "console ends"
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_settings_that_can_not_be_used_end_it_with_2_and_words(tmp_path: Path) -> None:
    for env, words in (
        ({}, "SENDONCE_DSN is not set"),
        ({"SENDONCE_DSN": "x"}, "this is no Pod with a service account"),
        ({"SENDONCE_DSN": "x", "KUBECONFIG": str(tmp_path / "none")}, "KUBECONFIG:"),
    ):
        process = await start(**env)
        _, said = await process.communicate()
        assert process.returncode == 2
        assert words in said.decode()
        assert b"Traceback" not in said

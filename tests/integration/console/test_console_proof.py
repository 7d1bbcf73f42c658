"""The proof from the console, and `kubectl campaign` against the console itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.kubectl.person import Person, Ran, write_kubeconfig

from sendonce_store.proof import CONTENT_SECURITY_POLICY, checked

Plugin = Callable[..., Any]


@pytest.fixture
def plugin(console: Any, tmp_path: Path) -> Plugin:
    """Run `kubectl campaign` as somebody whom the console knows by a token."""

    async def run(who: str, *arguments: str, stdin: str | None = None) -> Ran:
        kubeconfig = write_kubeconfig(tmp_path / who, {"token": who}, {"server": "https://127.0.0.1:9"})
        person = Person(kubeconfig, {"SENDONCE_CONSOLE_URL": console.base})
        return await asyncio.to_thread(person.run, *arguments, stdin=stdin)

    return run


async def finished(console: Any) -> str:
    """The name of a campaign of shop that has ended."""
    found = (await console.json("/api/v1/namespaces/shop/campaigns", "viewer"))["items"]
    return str(next(one["name"] for one in found if one["ended"]))


async def test_the_proof_is_a_page_a_file_and_a_document(console: Any) -> None:
    name = await finished(console)
    page = await console.get(f"/ns/shop/campaigns/{name}/proof", "viewer")
    assert page.headers["Content-Security-Policy"].startswith(CONTENT_SECURITY_POLICY)
    document = await console.json(f"/api/v1/namespaces/shop/campaigns/{name}/proof", "viewer")
    assert checked(json.dumps(document).encode())["holds"] is True


async def test_the_plugin_reads_what_the_console_says(console: Any, plugin: Plugin) -> None:
    name = await finished(console)
    assert "holds: every sum adds up" in (await plugin("viewer", "proof", name)).out
    recipients = await plugin("agent", "recipients", name, "-o", "json")
    assert recipients.code == 0, recipients.err
    somebody = recipients.data["items"][0]["recipient"]
    shown = await plugin("agent", "show", name, somebody)
    assert (shown.code, recipients.data["items"][0]["channel"] in shown.out) == (0, True), shown.err
    assert (await plugin("viewer", "deadletters", name)).code == 0


async def test_the_plugin_is_refused_as_the_console_refuses(console: Any, plugin: Plugin) -> None:
    name = await finished(console)
    for who, order, code in (
        ("viewer", ["recipients", name], 5),
        ("stranger", ["recipients", name], 5),
        ("teller", ["proof", name], 4),
        ("agent", ["show", name, "nobody@example.com"], 4),
        ("agent", ["recipients", name, "--after", "nowhere"], 2),
    ):
        ran = await plugin(who, *order)
        assert (ran.code, ran.out) == (code, ""), ran.err


async def test_the_plugin_previews_a_file_by_the_console(plugin: Plugin) -> None:
    ran = await plugin("viewer", "preview", "-", stdin="kind: NotificationCampaign\n")
    assert ran.code == 2
    assert ran.err.startswith("error: -:")

"""The console in a real Chromium.

In: a machine with Chromium and axe; where they are not to be had the tests are skipped with the cure, which
SENDONCE_REQUIRE_ALL_LEVELS=1 makes a failure. Out, once per test process:

    site            the console as `sendonce console` serves it, over a seeded store (tests/console_cases/town.py)
    look            opens a page of it: `async with look("/", scheme="dark", width=360) as seen`

A `Seen` is a page with everything that the browser complained of meanwhile. All tests here share one event loop, as the
browser lives in it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect
from tests.console_cases.axe import EVERYTHING, HARMLESS, JUDGE, script
from tests.console_cases.town import Town, build
from tests.integration.conftest import create_database, drop_database
from tools.browser import OPTIONS, chromium, complaint

from sendonce_console.access.local import LocalDoor
from sendonce_console.levers.local import LocalLevers
from sendonce_console.main import build_app, furnish
from sendonce_console.settings import ConsoleSettings
from sendonce_store.connection import Connection, connect

TOKEN = "a-token-of-the-tests"
# milliseconds; what is waited for comes at once on a machine with nothing else to do
PATIENCE = 45_000
_REQUIRE = "SENDONCE_REQUIRE_ALL_LEVELS"


@pytest.fixture(scope="session")
def needed() -> None:
    """Skip, or fail where nothing may be skipped."""
    why = complaint()
    if why and os.environ.get(_REQUIRE) == "1":
        pytest.fail(why)
    if why:
        pytest.skip(why)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(needed: None) -> AsyncIterator[Browser]:
    """Yield Chromium."""
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield running
        await running.close()


@dataclass
class Site:
    """The console as served, and the store behind it."""

    base: str
    town: Town
    conn: Connection = field(repr=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def site(needed: None, admin_dsn: str, template: str) -> AsyncIterator[Site]:
    """Yield the console of one person at their own machine."""
    dsn = await create_database(admin_dsn, template)
    conn = await connect(dsn)
    town = await build(conn)
    console = furnish(ConsoleSettings(dsn=dsn, key=b"k" * 32), LocalDoor(TOKEN), LocalLevers(dsn))
    server = TestServer(build_app(console))
    await server.start_server()
    yield Site(str(server.make_url("")).rstrip("/"), town, conn)
    await server.close()
    await conn.close()
    await drop_database(admin_dsn, dsn)


@dataclass
class Seen:
    """A page in the browser.

    `said`: errors of its console, of its scripts and of its security policy; `answered`: addresses that were fetched.
    """

    page: Page
    base: str
    said: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        """Open another page of the console."""
        await self.page.goto(self.base + path, wait_until="load")

    async def violations(self, rules: Mapping[str, Any] = EVERYTHING) -> list[str]:
        """What axe finds."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(script())
        found: list[str] = await self.page.evaluate(JUDGE, rules)
        return found

    async def too_wide(self) -> int:
        """How many pixels the page is wider than its window."""
        found: int = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return found

    async def focused(self) -> str:
        """The text of what has the focus."""
        found: str = await self.page.evaluate(
            "(document.activeElement.textContent || document.activeElement.id).trim()"
        )
        return found

    def hear(self, message: ConsoleMessage) -> None:
        """Keep an error."""
        if message.type in {"error", "warning"} and not message.text.startswith(HARMLESS):
            self.said.append(f"{self.page.url}: {message.text}")


Look = Callable[..., AbstractAsyncContextManager[Seen]]


async def _signed_in(browser: Browser, base: str, options: dict[str, Any]) -> BrowserContext:
    context = await browser.new_context(**options)
    await context.request.get(f"{base}/?token={TOKEN}")
    return context


@pytest.fixture
def look(browser: Browser, site: Site) -> Look:
    """Return a function that opens a page in a browser of its own, signed in."""

    @asynccontextmanager
    async def open_page(
        path: str = "/", *, scheme: str = "light", width: int = 1280, scripts: bool = True, **options: Any
    ) -> AsyncIterator[Seen]:
        given = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "java_script_enabled": scripts}
        context = await _signed_in(browser, site.base, {**given, **options})
        page = await context.new_page()
        seen = Seen(page, site.base)
        page.on("console", seen.hear)
        page.on("pageerror", lambda error: seen.said.append(f"{page.url}: {error}"))
        page.on("response", lambda answer: seen.answered.append(answer.url))
        await seen.go(path)
        yield seen
        await context.close()

    return open_page

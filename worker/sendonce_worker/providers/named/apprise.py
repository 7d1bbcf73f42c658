"""The long tail: any service of the Apprise library, one message at a time in a thread.

Apprise says yes or no and nothing else, so that no answer but yes is definite, nothing is throttled and no wait is
known. It has no keys and no message ids. Its own retries and redirects are switched off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any
from urllib.parse import quote

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import SECRET_FIELD, Credentials
from sendonce_worker.providers.api.bodies import needed_text
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.errors import (
    PermanentSendError,
    ProviderConfigError,
    TemporarySendError,
    UnknownOutcomeError,
)

LONGEST = 32_768
MOST_THREADS = 32
TO = "{to}"

FACTS = Facts(
    title="Apprise",
    credentials=("url",),
    keys="None: whatever is not a plain yes is `uncertain`.",
    before="None: Apprise does not say why it failed. A URL that it can't read is Permanent, and nothing is sent.",
    batch="There is none.",
    sizes="32,768 characters; the service's own bound is Apprise's business, which may cut or split.",
    pace="None of ours, and Apprise's own sleep for some services; it blocks a thread, at most 32 at a time.",
    metadata="None.",
    probe="`apprise -b test URL` sends a message.",
    source="Apprise 2.3, its own documentation",
)


class AppriseProvider:
    """One Apprise URL; see ``Provider``."""

    key_window: float | None = None

    def __init__(self, spec: ProviderSpec, secrets: Mapping[str, str]) -> None:
        """Raises ``ProviderConfigError``."""
        self._library = _library()
        self._url = Credentials(secrets, FACTS).word("url")
        _check(self._url, self._library)
        self._asset = self._library.AppriseAsset(
            async_mode=False, http_redirects=False, storage_mode="memory", default_service_retry=0
        )
        self._timeout = spec.timeout_seconds
        threads = min(spec.max_in_flight, MOST_THREADS)
        self._threads = ThreadPoolExecutor(threads, "apprise")
        self._free = asyncio.Semaphore(threads)

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        """Try once; see ``Provider.send``."""
        words = needed_text(message.content.text, LONGEST, "Apprise")
        service = self._service(message.to)
        await self._wait_for_a_thread()
        try:
            clearance()
            work = asyncio.get_running_loop().run_in_executor(
                self._threads, self._notify, service, message.content.subject or "", words
            )
        except BaseException:
            self._free.release()
            raise
        work.add_done_callback(self._freed)
        return await self._answer(work)

    async def aclose(self) -> None:
        """Take no more; threads that are under way end by themselves, at the latest after the time-out."""
        self._threads.shutdown(wait=False)

    async def _wait_for_a_thread(self) -> None:
        """Services that do not end hold their threads: nobody waits for one longer than the time-out."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError as error:
            words = "all threads are busy with messages that do not end"
            raise TemporarySendError("connect_timeout", words) from error

    def _service(self, to: str) -> Any:  # noqa: ANN401 - a class of a library that need not be there
        service = self._library.Apprise.instantiate(self._url.replace(TO, quote(to, safe="")), asset=self._asset)
        if service is None or len(service) != 1:
            raise PermanentSendError("bad_address", "the address does not make the URL one that reaches one place")
        service.socket_connect_timeout = service.socket_read_timeout = float(self._timeout)
        return service

    @staticmethod
    def _notify(service: Any, title: str, body: str) -> bool:  # noqa: ANN401 - as above
        return service.notify(body=body, title=title) is True

    async def _answer(self, work: asyncio.Future[bool]) -> Accepted:
        try:
            done = await asyncio.wait_for(asyncio.shield(work), self._timeout)
        except TimeoutError as error:
            raise UnknownOutcomeError("timeout", "Apprise did not end within the time-out") from error
        except Exception as error:
            raise UnknownOutcomeError("apprise_failed", f"{type(error).__name__} inside Apprise") from error
        if not done:
            raise UnknownOutcomeError("apprise_failed", "Apprise says no, but not why")
        return Accepted(None, "Apprise says yes")

    def _freed(self, work: asyncio.Future[bool]) -> None:
        self._free.release()
        if not work.cancelled():
            work.exception()  # looked at, else asyncio complains of one that nobody waited for


def build(spec: ProviderSpec, secrets: Mapping[str, str]) -> AppriseProvider:
    """Build the provider. Raises ``ProviderConfigError``."""
    return AppriseProvider(spec, secrets)


def _library() -> Any:  # noqa: ANN401 - as above
    try:
        return import_module("apprise")
    except ImportError as error:
        cure = "add the Python package apprise to the worker's image (docs/providers.md)"
        raise ProviderConfigError("type", f"Apprise is not installed here: {cure}") from error


def _check(url: str, library: Any) -> None:  # noqa: ANN401 - as above
    scheme = url.partition("://")[0].lower()
    if TO not in url:
        raise ProviderConfigError(SECRET_FIELD, "url must hold {to}, where the recipient's address goes")
    if "://" not in url or scheme not in library.manager_plugins.NotificationManager():
        raise ProviderConfigError(SECRET_FIELD, f"url begins with {scheme!r}, which Apprise has no service for")
    if "retry=" in url:
        raise ProviderConfigError(SECRET_FIELD, "url must not have retry=: Apprise would send again by itself")

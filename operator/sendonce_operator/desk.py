"""Between kopf and the operator's own loop: events and orders come in from kopf's thread, answers go back.

kopf cancels the tasks of its loop when it ends, so it has one of its own, in a thread; everything else runs here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from sendonce_operator.actions import reconcile_action
from sendonce_operator.active import ActiveLoop
from sendonce_operator.deleting import delete
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import ACTION, CAMPAIGN, CLUSTER_PROVIDER, PROVIDER, key_of
from sendonce_operator.paths import DEPLOYMENT, POD, Key
from sendonce_operator.providers import reconcile_provider
from sendonce_operator.reconcile import reconcile
from sendonce_operator.runtime import Runtime

logger = logging.getLogger(__name__)
T = TypeVar("T")
Object = Mapping[str, Any]
# a deletion that waits for the store asks again after so many seconds
STORE_SECONDS = 5.0
# an action that waits is asked for again after so many seconds, and later and later
ACTION_SECONDS, LONGEST_ACTION_SECONDS = 3.0, 30.0
# a deletion that takes longer is asked for again
DELETION_SECONDS = 10.0
# the loop takes a second; after so many it hangs
LOOP_PATIENCE = 120.0
# a change that a list has shown, and the watch not for so many lists: the watch is dead
CANARY_LISTS = 2.5


def ask_again(age: timedelta) -> float:
    """Seconds until an action of this age is looked at again: each look is a write to the API server, kopf's."""
    return min(LONGEST_ACTION_SECONDS, max(ACTION_SECONDS, age.total_seconds() / 10))


class Desk:
    """Takes what kopf brings, from any thread."""

    def __init__(self, runtime: Runtime, active: ActiveLoop, loop: asyncio.AbstractEventLoop) -> None:
        """`loop` is the operator's own."""
        self._runtime = runtime
        self._active = active
        self._loop = loop
        self._deletions: dict[Key, asyncio.Task[float | None]] = {}

    async def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the operator's loop, and wait for it in the caller's."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    # --- events ------------------------------------------------------------------------------------------------------
    def show(self, kind: str, body: Object, event: str | None) -> None:
        """A watch, or kopf's first list, shows an object of ours."""
        self._loop.call_soon_threadsafe(self._show, kind, body, event == "DELETED")

    def _show(self, kind: str, body: Object, gone: bool) -> None:  # noqa: FBT001 - call_soon takes positions only
        self._runtime.canary.hear(kind, body, gone=gone)
        self._runtime.watched.note(kind, body, gone=gone)
        key = key_of(kind, body)
        if gone and kind in {PROVIDER, CLUSTER_PROVIDER} and key not in self._runtime.watched.providers:
            self._runtime.gone.add(key)

    def show_deployment(self, body: Object, event: str | None) -> None:
        """A watch shows a Deployment of ours."""
        self._loop.call_soon_threadsafe(self._show_deployment, body, event == "DELETED")

    def _show_deployment(self, body: Object, gone: bool) -> None:  # noqa: FBT001 - call_soon takes positions only
        self._runtime.canary.hear(DEPLOYMENT, body, gone=gone)
        self._runtime.watched.note_deployment(body, gone=gone)

    def show_pod(self, body: Object, event: str | None) -> None:
        """A watch shows a worker's Pod."""
        self._loop.call_soon_threadsafe(self._show_pod, body, event == "DELETED")

    def _show_pod(self, body: Object, gone: bool) -> None:  # noqa: FBT001 - call_soon takes positions only
        self._runtime.canary.hear(POD, body, gone=gone)
        self._runtime.watched.note_pod(body, gone=gone)

    # --- orders ------------------------------------------------------------------------------------------------------
    async def campaign(self, body: Object) -> None:
        """A campaign was made or changed, or the operator has come back to it."""
        await self._ask(self._campaign(body))

    async def _campaign(self, body: Object) -> None:
        self._runtime.watched.note(CAMPAIGN, body)
        await reconcile(self._runtime, key_of(CAMPAIGN, body))

    async def deleted(self, body: Object) -> float | None:
        """A campaign is to go: seconds to wait and ask again, or None once it may."""
        return await self._ask(self._deleted(body))

    async def _deleted(self, body: Object) -> float | None:
        """What takes long goes on by itself: kopf shows nothing more of an object while it waits for us."""
        self._runtime.watched.note(CAMPAIGN, body)
        key = key_of(CAMPAIGN, body)
        task = self._deletions.get(key)
        if task is None:
            task = self._deletions[key] = asyncio.ensure_future(self._delete(key))
            task.add_done_callback(lambda _: self._deletions.pop(key, None))
        done, _ = await asyncio.wait({task}, timeout=DELETION_SECONDS)
        return task.result() if done else DELETION_SECONDS / 10

    async def _delete(self, key: Key) -> float | None:
        try:
            return await delete(self._runtime, key)
        except STORE_ERRORS as error:
            logger.warning("%s waits for the store: %s", key.name, error)
            return STORE_SECONDS

    async def provider(self, kind: str, body: Object) -> None:
        """A provider was made or changed."""
        await self._ask(self._provider(kind, body))

    async def _provider(self, kind: str, body: Object) -> None:
        self._runtime.watched.note(kind, body)
        await reconcile_provider(self._runtime, key_of(kind, body))

    async def action(self, body: Object) -> float | None:
        """An action was made: seconds to wait and ask again, or None once it is done."""
        return await self._ask(self._action(body))

    async def _action(self, body: Object) -> float | None:
        seen = self._runtime.watched.note(ACTION, body)
        done = await reconcile_action(self._runtime, key_of(ACTION, body))
        return None if done or seen is None else ask_again(self._runtime.now() - seen.subject.created_at)

    # --- health ------------------------------------------------------------------------------------------------------
    def complaint(self) -> str | None:
        """Why the process should be started anew; None while it is well."""
        now = time.monotonic()
        if now - self._active.looked_at > LOOP_PATIENCE:
            return f"the loop has not looked at the campaigns for {now - self._active.looked_at:.0f} s"
        age = self._runtime.canary.age(now)
        patience = CANARY_LISTS * self._runtime.settings.resync
        return f"a watch has not shown a change for {age:.0f} s" if age > patience else None

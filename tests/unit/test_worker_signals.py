"""What a worker makes of being told to stop, once and twice."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from sendonce_worker.loop import Ended
from sendonce_worker.main import STOPPED_AT_ONCE, _until_signal
from sendonce_worker.settings import WorkerSettings

SETTINGS = WorkerSettings(dsn="", namespace="shop", send_key="spring", identity="one", files=Path())


class Ending:
    """A worker that is about to end by itself, and says goodbye when it may."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.goodbye = asyncio.Event()

    def drain(self) -> None:
        assert not self.told.is_set(), "once is enough"
        self.told.set()

    async def run(self) -> Ended:
        await self.goodbye.wait()
        return Ended.FINISHED


async def told(worker: Any) -> asyncio.Task[int]:
    """Have it told to stop; returns what it ends with."""
    ending = asyncio.create_task(_until_signal(worker, SETTINGS))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGTERM)
    await worker.told.wait()
    return ending


async def test_one_that_ends_by_itself_is_not_cut_off_by_the_first_word() -> None:
    worker = Ending()
    ending = await told(worker)
    worker.goodbye.set()
    assert await ending == 0


async def test_the_second_word_stops_it_at_once() -> None:
    ending = await told(Ending())
    os.kill(os.getpid(), signal.SIGTERM)
    assert await ending == STOPPED_AT_ONCE

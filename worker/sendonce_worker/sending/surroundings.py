"""What a session uses of its worker, and shares with the sessions of other batches."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from sendonce_store.rows import Holder
from sendonce_worker.link import Link
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.sending.flying import Flying
from sendonce_worker.sending.handoff import Alarms


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session uses of its worker."""

    link: Link
    holder: Holder
    metrics: WorkerMetrics
    alarms: Alarms
    heartbeat: float
    rng: random.Random
    flying: Flying
    tail: asyncio.Event  # set when a batch has nothing more to start, so that the next one can fill the room

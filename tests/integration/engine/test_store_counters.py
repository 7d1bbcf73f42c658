"""A batch's counters are those of its rows, after whatever was done in whatever order."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store import actions, queue
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.queue import LeaseLostError
from sendonce_store.rows import Batch, Reason, Result, Unsent, Wait

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

COUNTED = ("pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled")
STEPS = 120


class Walk:
    """Random steps of workers and people on one campaign."""

    def __init__(self, campaign: Campaign, seed: int) -> None:
        self.campaign = campaign
        self.rng = random.Random(seed)
        self.held: list[Batch] = []
        self.orders = 0

    async def step(self) -> None:
        often = [self.claim, self.begin, self.answer]
        others = [self.unsent, self.release, self.lapse, self.retry, self.resolve, self.evidence, self.settle, self.age]
        doing = self.rng.choice([*often, *often, *others])
        with suppress(LeaseLostError):
            await doing()

    def batch(self) -> Batch | None:
        return self.rng.choice(self.held) if self.held else None

    async def in_state(self, batch: Batch, state: str) -> list[dict[str, Any]]:
        rows = [row for row in await self.campaign.rows() if row["batch_id"] == batch.id and row["state"] == state]
        return self.rng.sample(rows, min(len(rows), self.rng.randint(1, 4)))

    async def claim(self) -> None:
        batch = await self.campaign.try_claim(f"worker-{self.rng.randint(1, 3)}")
        if batch is not None:
            self.held.append(batch)

    async def begin(self) -> None:
        if batch := self.batch():
            await self.campaign.begin(batch, [row["no"] for row in await self.in_state(batch, "pending")])

    async def answer(self) -> None:
        if batch := self.batch():
            rows = await self.in_state(batch, "sending")
            await self.campaign.turn(batch, results=[self.result(row) for row in rows])

    def result(self, row: dict[str, Any]) -> Result:
        state = self.rng.choice(["sent", "pending", "failed", "uncertain"])
        if row["maybe_accepted"] and state == "failed":
            state = "uncertain"
        reasons: dict[str, Reason] = {"failed": "permanent", "uncertain": "unknown_outcome"}
        unknown = state == "uncertain" or (state == "pending" and self.rng.random() < 0.3)
        return Result(
            row["no"], row["attempt_seq"], state, "noted", reasons.get(state), delay=0.0, unknown=unknown, used=1
        )

    async def unsent(self) -> None:
        if batch := self.batch():
            rows = await self.in_state(batch, "pending")
            wanted: list[tuple[str, Reason | Wait]] = [
                ("failed", "render_error"), ("suppressed", "unknown_timezone"), ("pending", "quiet_hours"),
            ]  # fmt: skip
            unsent = [Unsent(row["no"], *self.rng.choice(wanted), delay=0.0) for row in rows]
            await self.campaign.turn(batch, unsent=unsent)

    async def release(self) -> None:
        if batch := self.batch():
            self.held.remove(batch)
            await self.campaign.release(batch)

    async def lapse(self) -> None:
        await self.campaign.lapse()

    async def age(self) -> None:
        await self.campaign.age(100)

    async def evidence(self) -> None:
        if self.held:
            batch = self.rng.choice(self.held)
            result = Result(self.rng.randint(1, 12), 1, "sent", outcome="accepted")
            await queue.record_evidence(self.campaign.world.conn, batch, self.campaign.holder(), [result])

    async def _order(self, kind: str, **selected: Any) -> None:
        self.orders += 1
        resolve_as = self.rng.choice(["sent", "failed", "resend"]) if kind == "Resolve" else None
        chosen = Selection(limit=self.rng.choice([None, 3]), **selected)
        order = Order(f"order-{self.orders}", kind, chosen, resolve_as=resolve_as)
        await actions.apply(self.campaign.world.conn, Target(self.campaign.id, "default"), order)

    async def retry(self) -> None:
        await self._order("Retry")

    async def resolve(self) -> None:
        await self._order("Resolve", states=("uncertain",))

    async def settle(self) -> None:
        if self.rng.random() < 0.15:
            await actions.cancel(self.campaign.world.conn, self.campaign.id)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_counters_follow_the_rows_through_a_random_walk(world: World, seed: int) -> None:
    campaign = await world.campaign([])
    await _two_batches(world, campaign)
    walk = Walk(campaign, seed)
    seen: set[str] = set()
    for _ in range(STEPS):
        await walk.step()
        by_batch: dict[int, Counter[str]] = {}
        for row in await campaign.rows():
            by_batch.setdefault(row["batch_id"], Counter())[row["state"]] += 1
        for batch in await campaign.batches():
            counted = {state: batch[state] for state in COUNTED}
            assert counted == {state: by_batch[batch["id"]][state] for state in COUNTED}
        seen |= {state for counts in by_batch.values() for state in counts}
    assert len(seen) >= 6  # a walk that goes nowhere shows nothing


async def _two_batches(world: World, campaign: Campaign) -> None:
    """Two batches of twelve, written as an import writes them."""
    store = (await campaign.query("SELECT id FROM sendonce.store"))[0]["id"]
    provider = (await campaign.query("SELECT provider_id FROM sendonce.channels"))[0]["provider_id"]
    for part in range(2):
        (batch,) = await campaign.query(
            "INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)"
            " VALUES ('default', %(id)s, 'send', 'Email', %(provider)s, now()) RETURNING id",
            provider=provider,
        )
        await campaign.query(
            "INSERT INTO sendonce.deliveries"
            " (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at)"
            " SELECT %(batch)s, n, %(id)s, n,"
            " sendonce.delivery_key(%(store)s, 'default', 'spring', 'Email', %(part)s || n), 'default',"
            " 'Email', %(part)s || n || '@example.com', now() FROM generate_series(1, 12) n",
            batch=batch["id"],
            store=store,
            part=f"part{part}-",
        )

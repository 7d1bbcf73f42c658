"""The far end itself: takes hand-offs in, decides, records, and says what to answer.

A front (``http_front``, ``smtp_session``) has read a hand-off in full and calls ``plan`` and then
``carry_out``. Out comes a ``Verdict`` that the ledger already has. A sender that goes away meanwhile
changes nothing: what was read in full is decided, as a real far end does.

The order of the rules: outage, account, ordered throttling and pace come first and use up none of a
message's attempts; then a key in use; then the attempt's fate, by address or by chance; then a key
that is known. So the fates of a message depend on seed, key and number alone, not on the clock.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import cast

from sendonce_cli.simulate.answers import Verdict, status_of
from sendonce_cli.simulate.behaviour import Behaviour, Outage
from sendonce_cli.simulate.control import Order
from sendonce_cli.simulate.fate import Fate, drawn_fate, fraction, overridden_fate
from sendonce_cli.simulate.hand_off import REFUSALS, HandOff, Plan, together
from sendonce_cli.simulate.keys import Claim, KeyMemory, KeyState, Scope
from sendonce_cli.simulate.ledger import Ledger, LedgerRow, LedgerWriter
from sendonce_cli.simulate.outcomes import Cause, Outcome, Reply
from sendonce_cli.simulate.pace import PaceGate
from sendonce_cli.simulate.settings import ChanceBy, RefuseAt, SimulatorSettings

_REPLIES = {
    Fate.LOST: Reply.LOST,
    Fate.DROP: Reply.LOST,
    Fate.STALL: Reply.LOST,
    Fate.GARBAGE: Reply.GARBAGE,
}
_UNDRAWN = frozenset(Cause) - {Cause.NORMAL, Cause.CHANCE, Cause.OVERRIDE, Cause.OTHER_PAYLOAD}


def steady_clock() -> Callable[[], float]:
    """Return a clock of Unix seconds that runs evenly, even if the wall clock is set."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class FarEnd:
    """The state of one far end: its behaviour now, its keys, its pace and its ledger."""

    def __init__(self, settings: SimulatorSettings, ledger: LedgerWriter) -> None:
        self.settings = settings
        self.behaviour: Behaviour = settings.behaviour
        self._ledger = ledger
        self._clock = steady_clock()
        self._keys = {"http": KeyMemory(), "smtp": KeyMemory()}
        self._gate = PaceGate()
        self._throttled_until = 0.0
        self._hand_offs = 0
        self._accepted = 0
        self._attempts: Counter[str] = Counter()
        self._draws: Counter[str] = Counter()
        self._deciding: set[asyncio.Task[object]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def deciding(self) -> int:
        """How many hand-offs have been read and not been answered."""
        return len(self._deciding)

    def remember(self, ledger: Ledger) -> None:
        """Take over the attempts and accepted keys of an earlier run's ledger."""
        for row in ledger.rows:
            hand_off = HandOff(row.protocol, row.path, row.to, row.key, row.payload_sha256)
            identity = self._identity(hand_off)
            self._hand_offs += 1
            self._attempts[identity] += 1
            self._draws[identity] += row.cause not in _UNDRAWN
            if row.outcome is Outcome.ACCEPTED:
                self._accepted += 1
                if row.key is not None and self.behaviour.window(row.protocol):
                    digest, message_id = row.payload_sha256 or "", row.message_id or ""
                    self._keys[row.protocol].accept(_scope(hand_off), digest, message_id, row.ts)

    def obey(self, order: Order) -> None:
        """Change the behaviour from now on; hand-offs already planned keep their fate."""
        self.behaviour = order.behaviour
        if order.throttle_seconds is not None:
            self._throttled_until = self._clock() + order.throttle_seconds
        if order.forget_keys:
            for keys in self._keys.values():
                keys.forget()

    def plan(self, hand_off: HandOff) -> Plan:
        """Count the attempt and settle its fate; at SMTP's RCPT the key may still be unknown."""
        return self._plan(hand_off, self._clock())

    def plan_all(self, hand_offs: Sequence[HandOff]) -> list[Plan]:
        """Plan those that came in one request: what refuses it refuses all of them."""
        now = self._clock()
        return together([self._plan(hand_off, now) for hand_off in hand_offs])

    def _plan(self, hand_off: HandOff, now: float) -> Plan:
        identity = self._identity(hand_off)
        self._attempts[identity] += 1
        self._hand_offs += 1
        fate, cause, wait = self._rule(now) or self._fate(identity, hand_off.to)
        behaviour, attempt = self.behaviour, self._attempts[identity]
        jitter = behaviour.jitter and behaviour.jitter * fraction(self.settings.seed, "jitter", identity, attempt)
        hang = behaviour.hang_seconds
        return Plan(
            identity=identity,
            arrived=now,
            attempt=attempt,
            fate=fate,
            cause=cause,
            before=behaviour.latency + jitter + (hang if fate in (Fate.HANG, Fate.STALL) else 0),
            after=hang if fate is Fate.SLOW else 0,
            retry_after=wait,
        )

    async def carry_out(self, plan: Plan, hand_off: HandOff) -> Verdict:
        """Decide and record; may take as long as the plan says."""
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._deciding.add(task)
        self._idle.clear()
        try:
            verdict = await self._decide(plan, hand_off)
            if plan.after:
                await asyncio.sleep(plan.after)
            return verdict
        finally:
            self._deciding.discard(task)
            if not self._deciding:
                self._idle.set()

    def refuse(self, hand_off: HandOff, outcome: Outcome, cause: Cause) -> Verdict:
        """Record a hand-off that is refused for its form or its credentials, with no fate."""
        identity = self._identity(hand_off)
        self._attempts[identity] += 1
        plan = Plan(identity, self._clock(), self._attempts[identity], Fate.OK, cause, 0, 0, 0)
        return self._record(plan, hand_off, Verdict(outcome, cause))

    async def finish(self, seconds: float) -> None:
        """Wait up to so long for hand-offs that are being decided, then give up the others.

        What is given up has no row: it was not accepted.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        given_up = list(self._deciding)
        for task in given_up:
            task.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)

    def _identity(self, hand_off: HandOff) -> str:
        early = hand_off.protocol == "smtp" and self.settings.refuse_at is RefuseAt.RCPT
        by_key = self.settings.chance_by is ChanceBy.KEY and hand_off.key is not None and not early
        who = f"key {hand_off.key}" if by_key else f"to {hand_off.to}"
        return f"{hand_off.protocol} {hand_off.path} {who}"

    def _rule(self, now: float) -> tuple[Fate, Cause, float] | None:
        """Return what holds for every message at this moment, if anything does."""
        behaviour = self.behaviour
        if behaviour.outage is not Outage.NONE:
            answers = behaviour.outage is Outage.ANSWER
            return (Fate.TRANSIENT if answers else Fate.DROP), Cause.OUTAGE, 0
        if behaviour.account_after is not None and self._hand_offs > behaviour.account_after:
            return Fate.ACCOUNT, Cause.ACCOUNT_AFTER, 0
        if now < self._throttled_until:
            return Fate.THROTTLE, Cause.CONTROL, self._throttled_until - now
        wait = self._gate.wait(behaviour.pace, now) if behaviour.pace else 0
        return (Fate.THROTTLE, Cause.PACE, wait) if wait else None

    def _fate(self, identity: str, to: str) -> tuple[Fate, Cause, float]:
        self._draws[identity] += 1
        draw, settings, wait = self._draws[identity], self.settings, self.behaviour.retry_after
        named = overridden_fate(to, draw, settings.overrides)
        if named is not None:
            return named, Cause.OVERRIDE, wait
        fate = drawn_fate(self.behaviour.chances, settings.seed, identity, to, draw)
        return fate, Cause.NORMAL if fate is Fate.OK else Cause.CHANCE, wait

    async def _decide(self, plan: Plan, hand_off: HandOff) -> Verdict:
        claim = self._claim(plan, hand_off)
        if claim is not None and claim.state is KeyState.IN_USE:
            conflict = Verdict(Outcome.CONFLICT, Cause.KEY_IN_USE)
            return self._record(plan, hand_off, conflict)
        try:
            if plan.before:
                await asyncio.sleep(plan.before)
            return self._settle(plan, hand_off, claim)
        finally:
            if claim is not None and claim.state is KeyState.FRESH:
                self._keys[hand_off.protocol].release(_scope(hand_off))

    def _claim(self, plan: Plan, hand_off: HandOff) -> Claim | None:
        """Return what the key means, or None if it does not matter here."""
        window = self.behaviour.window(hand_off.protocol)
        if hand_off.key is None or not window or plan.cause in _UNDRAWN:
            return None
        keys = self._keys[hand_off.protocol]
        digest = hand_off.payload_sha256 or ""
        claim = keys.claim(_scope(hand_off), digest, plan.arrived, window)
        if claim.state is KeyState.IN_USE:
            # When it came during another's use is a matter of timing: it uses up no attempt.
            self._draws[plan.identity] -= 1
        return claim

    def _settle(self, plan: Plan, hand_off: HandOff, claim: Claim | None) -> Verdict:
        if plan.refuses:
            wait = plan.retry_after if plan.fate is Fate.THROTTLE else None
            refusal = Verdict(REFUSALS[plan.fate], plan.cause, retry_after=wait)
            return self._record(plan, hand_off, refusal)
        if claim is not None and claim.state is not KeyState.FRESH:
            return self._record(plan, hand_off, _known(plan, claim))
        if plan.fate in (Fate.DROP, Fate.STALL):
            return self._record(plan, hand_off, Verdict(Outcome.DROPPED, plan.cause, Reply.LOST))
        verdict = self._accept(plan, hand_off)
        if claim is not None:
            keys, digest = self._keys[hand_off.protocol], hand_off.payload_sha256 or ""
            keys.accept(_scope(hand_off), digest, verdict.message_id or "", self._clock())
        return verdict

    def _accept(self, plan: Plan, hand_off: HandOff) -> Verdict:
        self._accepted += 1
        message_id = f"{hand_off.protocol}-{self._accepted}"
        reply = _REPLIES.get(plan.fate, Reply.ANSWERED)
        verdict = Verdict(Outcome.ACCEPTED, plan.cause, reply, message_id)
        return self._record(plan, hand_off, verdict)

    def _record(self, plan: Plan, hand_off: HandOff, verdict: Verdict) -> Verdict:
        settings = self.settings
        style = settings.style_at(hand_off.path)
        status = status_of(hand_off.protocol, verdict, style, settings.conflict_status)
        row = LedgerRow(
            ts=self._clock(),
            arrived=plan.arrived,
            protocol=hand_off.protocol,
            path=hand_off.path,
            key=hand_off.key,
            to=hand_off.to,
            outcome=verdict.outcome,
            cause=verdict.cause,
            answer_lost=verdict.reply is not Reply.ANSWERED,
            status=status,
            payload_sha256=hand_off.payload_sha256,
            attempt=plan.attempt,
            message_id=verdict.message_id,
        )
        self._ledger.append(row)
        return verdict


def _scope(hand_off: HandOff) -> Scope:
    return hand_off.path, hand_off.key or ""


def _known(plan: Plan, claim: Claim) -> Verdict:
    reply = _REPLIES.get(plan.fate, Reply.ANSWERED)
    if claim.state is KeyState.OTHER_PAYLOAD:
        return Verdict(Outcome.CONFLICT, Cause.OTHER_PAYLOAD, reply)
    return Verdict(Outcome.REPEAT, plan.cause, reply, claim.message_id)

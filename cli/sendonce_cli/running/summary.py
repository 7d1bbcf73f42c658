"""The end of a run: what became of everybody, and the exit code that says it to scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import Exit
from sendonce_cli.output import table
from sendonce_cli.running.progress import duration
from sendonce_cli.running.supervise import Ended
from sendonce_cli.shapes import campaign_data, counts_data, top_errors
from sendonce_store import ledger
from sendonce_store.connection import Connection
from sendonce_store.ledger import Outcome
from sendonce_store.standing import Counts, Overview, standing

__all__ = ["Summary", "exit_code", "next_step", "summarise"]

STATES = ("sent", "failed", "uncertain", "suppressed", "expired", "cancelled", "pending")


@dataclass(frozen=True, slots=True)
class Summary:
    """A campaign at the end of a run."""

    campaign: Overview
    channels: Mapping[str, Counts]
    outcomes: Sequence[Outcome]
    ended: Ended
    seconds: float

    def data(self) -> dict[str, Any]:
        """For scripts."""
        return campaign_data(self.campaign) | {
            "channels": {channel: counts_data(counts) for channel, counts in self.channels.items()},
            "topErrors": top_errors(self.outcomes),
            "seconds": round(self.seconds, 1),
            "exitCode": int(exit_code(self.ended, self.campaign)),
            "nextStep": next_step(self.ended, self.campaign),
        }

    def shown(self) -> RenderableType:
        """For people."""
        rows = [_row(channel, counts) for channel, counts in self.channels.items()]
        if len(rows) != 1:
            rows.append(_row("all", self.campaign.counts))
        lines: list[RenderableType] = [Text(self._headline()), Text(""), table(_columns(), rows)]
        if self.outcomes:
            lines += [Text(""), reasons_table(self.outcomes)]
        if step := next_step(self.ended, self.campaign):
            lines += [Text(""), Text(step)]
        return Group(*lines)

    def _headline(self) -> str:
        c, stands = self.campaign, standing(self.campaign)
        people = f"{c.total:,} recipients"
        if c.duplicates or c.rejected or c.unreachable:
            people += f" ({c.duplicates:,} duplicates and {c.rejected:,} refused rows left out)"
        told = f": {stands.message}" if stands.message else ""
        return f"{c.send_key}: {stands.reason}{told}. {people}, {duration(self.seconds)}."


async def summarise(conn: Connection, campaign: Overview, ended: Ended, seconds: float) -> Summary:
    """Read what the end of a run tells."""
    channels = await ledger.channel_counts(conn, campaign.id)
    return Summary(campaign, channels, await ledger.outcomes(conn, campaign.id), ended, seconds)


def exit_code(ended: Ended, campaign: Overview) -> Exit:
    """0 when everybody was sent to, 1 when not, 6 while a person is waited for, 130 when interrupted."""
    if ended is Ended.INTERRUPTED:
        return Exit.INTERRUPTED
    if ended is Ended.WAITS:
        return Exit.WAITS
    undelivered = (
        campaign.ended == "failed" or campaign.ended_reason == "SomeUndelivered" or campaign.counts.undelivered
    )
    return Exit.UNDELIVERED if undelivered else Exit.OK


def next_step(ended: Ended, campaign: Overview) -> str:
    """What a person can do now; empty when there is nothing."""
    key = _named(campaign)
    if ended is Ended.INTERRUPTED:
        left = campaign.counts.pending + campaign.counts.sending
        return f"stopped with {left:,} deliveries to go: run the same command again to continue"
    if ended is Ended.WAITS:
        return _waits(campaign, key)
    if campaign.counts.failed or campaign.counts.uncertain:
        return f"`sendonce deadletters {key}` tells why; `sendonce retry {key}` and `sendonce resolve {key}` try again"
    if campaign.rejected:
        return f"`sendonce rejects {key}` lists the rows that were refused"
    return ""


def _waits(campaign: Overview, key: str) -> str:
    if campaign.halt_reason is not None:
        return f"mend what is said above, then `sendonce resume {key}` and run the same command again (or add --resume)"
    if campaign.suspended:
        return f"`sendonce resume {key}`, and run it again with `suspend: false` in the document"
    return f"look at the canary, then `sendonce promote {key}` and run the same command again"


def _named(campaign: Overview) -> str:
    return campaign.send_key if campaign.namespace == "default" else f"-n {campaign.namespace} {campaign.send_key}"


def _columns() -> list[str]:
    return ["CHANNEL", "#TOTAL", *(f"#{state.upper()}" for state in STATES)]


def _row(channel: str, counts: Counts) -> list[object]:
    states = [getattr(counts, state) + (counts.sending if state == "pending" else 0) for state in STATES]
    return [channel, counts.total, *states]


def reasons_table(outcomes: Sequence[Outcome]) -> RenderableType:
    """Deliveries that were not sent, by reason, with the far end's words."""
    rows = [
        (one["count"], one["state"], one["channel"], one["reason"], one["code"], one["message"])
        for one in (_as_row(outcome) for outcome in outcomes[:10])
    ]
    return table(["#COUNT", "STATE", "CHANNEL", "REASON", "CODE", "THE FAR END SAID"], rows)


def _as_row(outcome: Outcome) -> dict[str, Any]:
    masked = top_errors([outcome])
    message = masked[0]["message"] if masked else ""
    return {
        "count": outcome.count,
        "state": outcome.state,
        "channel": outcome.channel,
        "reason": outcome.reason,
        "code": outcome.code,
        "message": message,
    }

"""The proof as tables for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sendonce_cli.demo.proof import PROTOCOLS, Proof
from sendonce_cli.demo.saboteur import Kill
from sendonce_cli.simulate.ledger import Ledger


def report(proof: Proof, ledger: Ledger, kills: Sequence[Kill], seconds: float) -> RenderableType:
    """Everything that was counted, and the verdict last."""
    return Group(
        _what_happened(ledger, kills, seconds),
        _acceptances(proof),
        _states(proof),
        _reasons(proof),
        _sums(proof),
        _verdict(proof),
    )


def _what_happened(ledger: Ledger, kills: Sequence[Kill], seconds: float) -> Table:
    table = Table(title="What happened", title_justify="left", show_header=False)
    for kill in kills:
        table.add_row(f"worker {kill.pid} killed (SIGKILL)", f"when {kill.final:,} of {kill.total:,} had ended")
    lost = sum(row.answer_lost for row in ledger.rows)
    table.add_row("hand-offs that the far end saw", f"{len(ledger.rows):,}, and it lost the answers to {lost:,}")
    for outcome, count in ledger.outcomes().most_common():
        table.add_row(f"  {outcome.value}", f"{count:,}")
    table.add_row("time", f"{seconds:.0f} s")
    return table


def _acceptances(proof: Proof) -> Table:
    table = Table(title="Accepted by the far end, per recipient", title_justify="left")
    table.add_column("times accepted")
    for channel in PROTOCOLS:
        table.add_column(channel, justify="right")
    for times in range(max((times for _, times in proof.by_acceptances), default=0) + 1):
        cells = [f"{proof.by_acceptances.get((channel, times), 0):,}" for channel in PROTOCOLS]
        table.add_row(str(times), *cells, style="bold red" if times > 1 else "")
    return table


def _states(proof: Proof) -> Table:
    table = Table(title="Deliveries by state", title_justify="left")
    table.add_column("state")
    for channel in PROTOCOLS:
        table.add_column(channel, justify="right")
    for state in sorted({state for _, state in proof.by_state}):
        table.add_row(state, *[f"{proof.by_state.get((channel, state), 0):,}" for channel in PROTOCOLS])
    return table


def _reasons(proof: Proof) -> Table:
    table = Table(title="Why not sent", title_justify="left")
    table.add_column("state")
    table.add_column("reason")
    for channel in PROTOCOLS:
        table.add_column(channel, justify="right")
    for state, reason in sorted({(state, reason) for _, state, reason in proof.by_reason}):
        cells = [f"{proof.by_reason.get((channel, state, reason), 0):,}" for channel in PROTOCOLS]
        table.add_row(state, reason, *cells)
    return table


def _sums(proof: Proof) -> Table:
    table = Table(title="Sums", title_justify="left")
    for name in ("what", "found", "must be"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for name, found, wanted in proof.sums:
        table.add_row(name, f"{found:,}", f"{wanted:,}", style="" if found == wanted else "bold red")
    return table


def _verdict(proof: Proof) -> Text:
    held = proof.held_accepted + proof.held_unsent
    lines = [
        (
            f"lost {proof.lost} · duplicated {proof.duplicated} · contradicted {proof.contradicted} · "
            f"accepted for nobody {proof.strangers}"
        ),
        (
            f"held as uncertain for a person: {held} (the far end has {proof.held_accepted} of them, "
            f"{proof.held_unsent} never reached it)"
        ),
        "The proof holds: nobody was lost, nobody got it twice, all sums add up."
        if proof.holds
        else "THE PROOF DOES NOT HOLD.",
    ]
    return Text("\n".join(lines), style="bold green" if proof.holds else "bold red")

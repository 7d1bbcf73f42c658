"""What came of a turn, as Prometheus is told: outcomes that were committed, never fetches."""

from __future__ import annotations

from sendonce_store.rows import Turn, TurnOutcome
from sendonce_worker.metrics import DeliverySeries, WorkerMetrics
from sendonce_worker.sending import outcomes


def count(metrics: WorkerMetrics, series: DeliverySeries, turn: Turn, outcome: TurnOutcome) -> None:
    """Count the results that were written, and the rows that ended without a hand-off."""
    for result in turn.results:
        if result.no not in outcome.unwritten:
            metrics.delivered(series, outcomes.counted(result))
    for state in outcome.settled.values():
        if state != "pending":
            metrics.delivered(series, outcomes.counted_state(state))
    for row in outcome.started:
        if row.state != "sending":
            metrics.delivered(series, outcomes.counted_state(row.state))

"""What came of a turn, as Prometheus is told: outcomes that were committed, never fetches."""

from __future__ import annotations

from collections import Counter

from sendonce_store.rows import Turn, TurnOutcome
from sendonce_worker.metrics import DeliverySeries, WorkerMetrics
from sendonce_worker.sending import outcomes


def count(metrics: WorkerMetrics, series: DeliverySeries, turn: Turn, outcome: TurnOutcome) -> None:
    """Count the results that were written, and the rows that ended without a hand-off."""
    ended = [outcomes.counted(result) for result in turn.results if result.no not in outcome.unwritten]
    ended += [outcomes.counted_state(state) for state in outcome.settled.values() if state != "pending"]
    ended += [outcomes.counted_state(row.state) for row in outcome.started if row.state != "sending"]
    for how, times in Counter(ended).items():
        metrics.delivered(series, how, times)

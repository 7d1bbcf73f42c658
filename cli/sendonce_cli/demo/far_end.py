"""The demo's far end: `sendonce simulate` as a process of its own, which keeps the ledger that is the truth."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MISBEHAVIOUR = {
    "permanent": 0.01,  # of the recipients; the rest is of the attempts
    "transient": 0.06,
    "throttle": 0.002,
    "hang": 0.004,
    "slow": 0.002,
    "lost": 0.01,
    "drop": 0.01,
}
HANG_SECONDS = 4


@dataclass(frozen=True, slots=True)
class FarEnd:
    """Where it listens and where its ledger is."""

    http: int
    smtp: int
    ledger: Path


@contextmanager
def far_end(ledger: Path, seed: int) -> Iterator[FarEnd]:
    """Run the simulator; in the end it finishes what it is deciding, so that the ledger is whole."""
    process = subprocess.Popen(_command(ledger, seed), stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        ports = json.loads(line)
        yield FarEnd(ports["http"], ports["smtp"], ledger)
    finally:
        process.terminate()
        process.communicate()


def _command(ledger: Path, seed: int) -> Sequence[str]:
    chances = [f"--chance={name}={chance}" for name, chance in MISBEHAVIOUR.items()]
    settings = ["--ledger", str(ledger), "--seed", str(seed), "--chance-by", "recipient"]
    timing = ["--hang-seconds", str(HANG_SECONDS), "--latency", "0.02", "--jitter", "0.03"]
    return [sys.executable, "-m", "sendonce_cli.simulate", *settings, *timing, *chances]

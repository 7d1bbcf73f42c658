"""`python -m sendonce_cli.demo`, which is what `make demo` runs."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from sendonce_cli.demo.show import show


def main() -> None:
    """Read the options and show it."""
    parser = argparse.ArgumentParser(prog="python -m sendonce_cli.demo", description=__doc__)
    parser.add_argument(
        "--examples", type=Path, default=Path("examples/demo"), help="folder with campaign.yaml, providers.yaml"
    )
    parser.add_argument("--people", type=int, default=2000, help="recipients in the list")
    parser.add_argument("--seed", type=int, default=20261129, help="of the list and of the far end's misbehaviour")
    options = parser.parse_args()
    sys.exit(asyncio.run(show(options.examples, options.people, options.seed)))


main()

"""Reads one source of recipients to its end, alone: prints rows, seconds and the peak of its memory (MiB) as JSON.

The memory is this process's and, added to it, that of the process that reads a Parquet file for it.

In: the folder of mounted files, and `spec.recipients` as JSON. Nothing is committed.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from sendonce_store.spec import Recipients
from sendonce_worker.importing import Files, asks_a_database, normalise_rows, open_import, read_rows

CHANNELS = ["Email"]
# in blocks
LOOK_EVERY = 20


async def counts(recipients: Recipients, files: Files) -> AsyncIterator[int]:
    """How many recipients each block holds."""
    if not asks_a_database(recipients):
        async with aclosing(open_import(recipients, CHANNELS, files)) as blocks:
            async for block in blocks:
                yield len(block.recipients)
        return
    async with aclosing(read_rows(recipients, CHANNELS, files)) as pages:
        async for page in pages:
            yield len(normalise_rows(page, 1, CHANNELS).recipients)


async def main(files: Path, recipients: str) -> None:
    """Read and print."""
    rows, blocks, of_others, began = 0, 0, 0.0, time.monotonic()
    async for count in counts(Recipients.from_wire(json.loads(recipients)), Files(files)):
        rows, blocks = rows + count, blocks + 1
        if blocks % LOOK_EVERY == 0:
            of_others = max(of_others, sum(map(peak, children())))
    print(json.dumps({"rows": rows, "seconds": time.monotonic() - began, "peak": peak("self") + of_others}))


def children() -> list[str]:
    """The ids of the processes that this one has started."""
    return [one for task in Path("/proc/self/task").iterdir() for one in (task / "children").read_text().split()]


def peak(process: str) -> float:
    """The highest resident memory of a process so far; `ru_maxrss` would begin with that of its parent."""
    try:
        status = Path(f"/proc/{process}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = status.partition("VmHWM:")[2].split()
    return int(found[0]) / 1024 if found else 0.0


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

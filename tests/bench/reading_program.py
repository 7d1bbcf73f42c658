"""Reads one source of recipients to its end, alone: prints rows, seconds and the peak of its memory (MiB) as JSON.

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
    rows, began = 0, time.monotonic()
    async for count in counts(Recipients.from_wire(json.loads(recipients)), Files(files)):
        rows += count
    print(json.dumps({"rows": rows, "seconds": time.monotonic() - began, "peak": peak()}))


def peak() -> float:
    """The highest resident memory of this process so far; `ru_maxrss` would begin with that of its parent."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

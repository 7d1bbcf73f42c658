"""A Parquet file in, the frames of the process that reads it out; see `parquet_reader` for what they hold."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

MEMORY = 256 * 1024 * 1024
"""Bytes of memory that the process may use: for a page or two of each column, which are mostly of 1 MiB."""

_PROGRAM = Path(__file__).with_name("parquet_reader.py")
# nothing of ours, such as the store's address, is for it to know
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1", "RUST_BACKTRACE": "0"}
_FRAME_SECONDS = 300.0


class ReaderError(Exception):
    """The file cannot be read; `detail` has the reader's own words, which may show a bit of the file."""

    def __init__(self, problem: str, detail: str = "", *, temporary: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.detail = detail
        self.temporary = temporary


async def read_frames(descriptor: int, skip: int) -> AsyncGenerator[dict[str, Any], None]:
    """The frames of the file behind a descriptor: its columns, then its rows but for the first `skip`.

    Raises `ReaderError`.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", _PROGRAM, str(descriptor), str(skip), str(MEMORY)),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        pass_fds=(descriptor,),
        env=_ENVIRONMENT,
        # a terminal's Ctrl-C is for us
        start_new_session=True,
    )
    try:
        while not (frame := await _frame(process)).get("end"):
            if "error" in frame:
                raise ReaderError("it is damaged, encrypted, or made in a way that is not known", frame["error"])
            yield frame
    finally:
        await _end(process)


async def _frame(process: Process) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_FRAME_SECONDS):
            length = int.from_bytes(await _output(process).readexactly(4), "little")
            frame: dict[str, Any] = json.loads(await _output(process).readexactly(length))
    except asyncio.IncompleteReadError:
        code = await process.wait()
        bound = f"{MEMORY // (1024 * 1024)} MiB"
        problem = f"it is damaged, or its pages need more than {bound} of memory: write it anew, with smaller pages"
        raise ReaderError(problem, f"its reader ended with {code}") from None
    except TimeoutError:
        raise ReaderError(f"reading it came no further in {_FRAME_SECONDS:.0f} seconds", temporary=True) from None
    return frame


async def _end(process: Process) -> None:
    if process.returncode is None:
        # not Process.kill: where the process has just ended, that takes its exit code away from asyncio
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    # what it had written already keeps the pipe open
    while await _output(process).read(65536):
        pass
    await process.wait()


def _output(process: Process) -> asyncio.StreamReader:
    return cast("asyncio.StreamReader", process.stdout)

"""A real S3 server (versitygw) on the loopback interface, for tests and benchmarks.

Without Go to build it a test is skipped with the cure; with SENDONCE_REQUIRE_ALL_LEVELS=1 it fails.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store
from tools.versitygw import built

REQUIRE_VARIABLE = "SENDONCE_REQUIRE_ALL_LEVELS"
ACCESS_KEY, SECRET_KEY = "AKSENDONCE", "hunter2hunter2"
BUCKET = "lists"


@dataclass(frozen=True)
class S3Server:
    """A server with one bucket; `url` is its endpoint."""

    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def put(self, key: str, body: bytes | Path) -> None:
        await obstore.put_async(self._store(), key, body)

    async def delete(self, key: str) -> None:
        await obstore.delete_async(self._store(), key)

    def _store(self) -> S3Store:
        return S3Store(
            BUCKET,
            endpoint=self.url,
            region="us-east-1",
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )


def program() -> Path:
    """The path of versitygw."""
    found = built()
    if found is None:
        complaint = "versitygw is not built: Go is not on this machine; install it from go.dev/dl"
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            pytest.fail(complaint)
        pytest.skip(complaint)
    return found


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[S3Server]:
    """A server over `folder` until the block ends."""
    (folder / BUCKET).mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--access", ACCESS_KEY, "--secret", SECRET_KEY, "--port", f"127.0.0.1:{port}", "--quiet")
    process = await asyncio.create_subprocess_exec(
        program(), *options, "posix", folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await _listens(process, port)
        yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _listens(process: asyncio.subprocess.Process, port: int) -> None:
    async with asyncio.timeout(60):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
    pytest.fail("versitygw has ended before it listened")

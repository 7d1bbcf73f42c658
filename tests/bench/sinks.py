"""Far ends that cost as little as possible: nginx for HTTP, postfix's smtp-sink for SMTP, ours where they are not.

In: nothing. Out: a `Sink` that listens on loopback. Debian's packages are unpacked into a cache folder, not
installed: no service is started, no configuration of the machine is touched.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import cpu_seconds, module, running

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "sendonce" / "bench"
_LISTEN_SECONDS = 10.0
_NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type application/json; tcp_nodelay on;
  keepalive_requests 2000000000; keepalive_timeout 1h; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 '{{"id":"x"}}'; }} }}
}}
"""


@dataclass(frozen=True, slots=True)
class Sink:
    """A far end on loopback that accepts whatever it gets."""

    name: str
    port: int
    pid: int

    def cpu(self) -> float:
        """CPU seconds used so far."""
        return cpu_seconds(self.pid)


@asynccontextmanager
async def http_sink() -> AsyncIterator[Sink]:
    """Nginx if it can be had, else ours."""
    program = await _find("nginx", "nginx", "usr/sbin/nginx")
    if program is None:
        async with _ours("http") as sink:
            yield sink
        return
    folder = Path(tempfile.mkdtemp(prefix="sendonce-nginx-"))
    port = free_port()
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    try:
        async with _listening("nginx", port, str(program), "-p", str(folder), "-c", str(folder / "nginx.conf")) as sink:
            yield sink
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def smtp_sink() -> AsyncIterator[Sink]:
    """Postfix's smtp-sink if it can be had, else ours. Both announce PIPELINING."""
    program = await _find("smtp-sink", "postfix", "usr/sbin/smtp-sink")
    if program is None:
        async with _ours("smtp") as sink:
            yield sink
        return
    port = free_port()
    account = ("-u", "nobody") if os.geteuid() == 0 else ()
    libraries = {"LD_LIBRARY_PATH": str(program.parent.parent / "lib" / "postfix")}
    command = (str(program), *account, "-m", "1000", f"inet:127.0.0.1:{port}", "1000")
    async with _listening("smtp-sink", port, *command, libraries=libraries) as sink:
        yield sink


@asynccontextmanager
async def mail_sink() -> AsyncIterator[Sink]:
    """Ours: a mail API whose answer depends on what it gets."""
    async with _ours("mails") as sink:
        yield sink


@asynccontextmanager
async def _ours(kind: str) -> AsyncIterator[Sink]:
    port = free_port()
    async with _listening(f"our own {kind} sink", port, *module("tests.bench.own_sink", kind, str(port))) as sink:
        yield sink


@asynccontextmanager
async def _listening(
    name: str, port: int, *command: str, libraries: dict[str, str] | None = None
) -> AsyncIterator[Sink]:
    async with running(*command, env=libraries) as process:
        async with asyncio.timeout(_LISTEN_SECONDS):
            while process.returncode is None and not await _answers(port):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
        if process.returncode is not None:
            raise RuntimeError(f"{name} ended with status {process.returncode}")
        yield Sink(name, port, process.pid)


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def _find(program: str, package: str, inside: str) -> Path | None:
    """A program: on the machine, in the cache, or out of Debian's package; None where there is no apt."""
    here = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    unpacked = CACHE / package
    if here is None and not (unpacked / inside).exists():
        await _unpack(package, unpacked)
    found = Path(here) if here else unpacked / inside
    return found if found.exists() else None


async def _unpack(package: str, folder: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    script = f"apt-get download -q {package} && dpkg-deb -x {package}_*.deb . && rm {package}_*.deb"
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, cwd=folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    await process.wait()


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

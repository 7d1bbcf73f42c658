"""Each source of recipients, read to its end by a process of its own: how fast, and in how much memory.

In: a server, how many people. Out: two rows a source. A tenth of the list is read as well, for the
memory that it takes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.bench import campaigns
from tests.bench.figures import Row
from tests.bench.server import Server
from tests.sources import mariadb_server
from tests.sources.parquet_files import Values, integers, parquet
from tests.sources.s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, running

PROGRAM = Path(__file__).with_name("reading_program.py")
QUERY = (
    "select 'user' || no || '@example.com' as email, 'Name ' || no as name, no as order from generate_series(1, {}) no"
)

MYSQL_QUERY = (
    "select concat('user', seq, '@example.com') as email, concat('Name ', seq) as name, seq as `order` from seq_1_to_{}"
)


async def measure(server: Server, folder: Path, people: int) -> list[Row]:
    """Every source with all of the people, and with a tenth."""
    files, few = folder / "sources", people // 10
    for count in (few, people):
        campaigns.write_people(files / str(count), count)
        (files / str(count) / "people.parquet").write_bytes(_parquet(count))
    keys = {"dsn": server.admin, "accessKeyID": ACCESS_KEY, "secretAccessKey": SECRET_KEY}
    with mariadb_server.running(folder / "mariadb") as mysql:
        _secrets(files, keys | {"mysql": mysql.dsn})
        return await _measure(folder, files, people)


def _parquet(count: int) -> bytes:
    """The same people in one row group, however many they are: it must not be read as a whole."""
    columns: dict[str, Values] = {
        "email": [f"user{no}@example.com" for no in range(count)],
        "name": [f"Name {no}" for no in range(count)],
        "order": integers(range(10_000_000, 10_000_000 + count)),
    }
    return parquet(columns, max_row_group_size=count, compression="zstd(3)")


async def _measure(folder: Path, files: Path, people: int) -> list[Row]:
    rows: list[Row] = []
    async with _far_ends(folder, files, (people // 10, people)) as (http, s3):
        for name, template in _sources(http, s3).items():
            rows += await _source(name, template, files, people)
    return rows


async def _source(name: str, template: str, files: Path, people: int) -> list[Row]:
    few = await _read(files, template.replace("COUNT", str(people // 10)), people // 10)
    all_of_them = await _read(files, template.replace("COUNT", str(people)), people)
    rate, peak = people / all_of_them["seconds"], all_of_them["peak"]
    print(f"  {name}: {rate:,.0f} rows/s, memory at most {peak:.0f} MiB", flush=True)
    return [
        Row(f"source_{name}", rate, "rows/s"),
        Row(f"source_{name}_memory", peak, "MiB", peak / few["peak"], "a tenth of the list"),
    ]


async def _read(files: Path, recipients: str, people: int) -> Mapping[str, Any]:
    command = (sys.executable, PROGRAM, files, recipients)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    found: dict[str, Any] = json.loads(printed)
    if found["rows"] != people:
        raise RuntimeError(f"{found['rows']} of {people} rows were read from {recipients}")
    return found


def _sources(http: str, s3: str) -> dict[str, str]:
    keys = {"credentialsSecretRef": {"name": "far-ends"}}
    given: dict[str, dict[str, Any]] = {
        "http": {"http": {"url": f"{http}/COUNT/configmaps/people/people.csv"}, "format": "CSV"},
        "s3": {"s3": {"bucket": BUCKET, "key": "COUNT.csv", "endpointURL": s3, **keys}, "format": "CSV"},
        "parquet": {"http": {"url": f"{http}/COUNT/people.parquet"}, "format": "Parquet"},
        "postgres": {
            "postgres": {"dsnSecretKeyRef": {"name": "far-ends", "key": "dsn"}, "query": QUERY.format("COUNT")},
        },
        "mysql": {
            "mysql": {
                "dsnSecretKeyRef": {"name": "far-ends", "key": "mysql"},
                "query": MYSQL_QUERY.replace("{}", "COUNT"),
            },
        },
    }
    return {name: json.dumps(source) for name, source in given.items()}


def _secrets(files: Path, keys: Mapping[str, str]) -> None:
    folder = files / "secrets" / "far-ends"
    folder.mkdir(parents=True)
    for key, value in keys.items():
        (folder / key).write_text(value, "utf-8")


@asynccontextmanager
async def _far_ends(folder: Path, files: Path, counts: tuple[int, ...]) -> AsyncIterator[tuple[str, str]]:
    """The URLs of a web server and of an S3 server that have the lists."""
    application = web.Application()
    application.router.add_static("/", files)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with running(folder / "s3") as s3:
            for count in counts:
                await s3.put(f"{count}.csv", files / str(count) / "configmaps" / "people" / "people.csv")
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", s3.url
    finally:
        await runner.cleanup()

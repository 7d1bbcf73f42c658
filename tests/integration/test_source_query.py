"""Recipients from a query on another, real PostgreSQL."""

import re
import tracemalloc
from contextlib import aclosing

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from sendonce_worker.importing import MissingColumnError, SourceUnreadableError, normalise_rows
from sendonce_worker.importing.query import read_query

FIELD = "spec.recipients.postgres.query"


async def read(dsn: str, query: str) -> list[list[dict[str, object]]]:
    async with aclosing(read_query(dsn, query, ["Email"])) as blocks:
        return [block async for block in blocks]


async def test_rows_become_recipients(empty_dsn: str) -> None:
    query = "select 7 as id, 'Ann@Example.com' as email, 'asia/tokyo' as timezone, 'Ann' as first_name -- everybody"
    (block,) = await read(empty_dsn, query)
    (recipient,) = normalise_rows(block, 1, ["Email"]).recipients
    assert (recipient.ref, recipient.timezone) == ("7", "Asia/Tokyo")
    assert recipient.addresses["Email"].original == "Ann@example.com"
    assert recipient.variables == {"first_name": "Ann"}


async def test_values_are_plain_json(empty_dsn: str) -> None:
    query = """
        select 'a@example.com' as email, 12.50 as price, 3.00 as points, 'NaN'::float8 as odd, true as vip,
               null as none, timestamptz '2026-12-04 09:00+09' at time zone 'UTC' as at, date '2026-12-04' as day,
               '{"a": [1.5, null]}'::jsonb as doc, array[1, 2] as list,
               'b2f7c3a4-0000-4000-8000-000000000000'::uuid as u, interval '1 day' as wait, '100%' as percent,
               '192.0.2.1'::inet as ip"""
    ((row,),) = await read(empty_dsn, query)
    assert row == {
        "email": "a@example.com",
        "price": 12.5,
        "points": 3,
        "odd": "nan",
        "vip": True,
        "none": None,
        "at": "2026-12-04T00:00:00",
        "day": "2026-12-04",
        "doc": {"a": [1.5, None]},
        "list": [1, 2],
        "u": "b2f7c3a4-0000-4000-8000-000000000000",
        "wait": "1 day, 0:00:00",
        "percent": "100%",
        "ip": "192.0.2.1",
    }


async def test_many_rows_come_in_blocks_and_constant_memory(empty_dsn: str) -> None:
    query = "select 'p' || n || '@example.com' as email, repeat('x', 100) as filler from generate_series(1, 30000) as n"
    tracemalloc.start()
    try:
        async with aclosing(read_query(empty_dsn, query, ["Email"])) as blocks:
            sizes = [len(block) async for block in blocks]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sizes == [5000] * 6
    assert peak < 12 * 1024 * 1024


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("selekt 1", 'syntax error at or near "selekt" (SQLSTATE 42601); it must be one SELECT'),
        ("delete from people", "it must be one SELECT"),
        ("select email from people; drop table people", "it must be one SELECT"),
        ("commit", "it must be one SELECT"),
        ("with gone as (delete from people returning email) select email from gone", "it must be one SELECT"),
        ("select email, add_person() from people", "cannot execute INSERT in a read-only transaction"),
        ("select email from nobody", 'relation "nobody" does not exist (SQLSTATE 42P01)'),
        ("select email, 1 / (length(email) - 15) as x from people", "division by zero"),
        ("select email, email from people", "column email is there twice"),
        ("select email, 'x'::bytea as photo from people", "column photo is of type bytea; encode or cast it to text"),
        ("""select email, '{"a": ["\\u0000"]}'::json as doc from people""", "column doc holds a NUL"),
        (
            """select email, '{"\\ud800": 1}'::json as doc from people""",
            "column doc holds a NUL or half of a surrogate",
        ),
        ("select email, 'infinity'::timestamptz as t from people", "a value cannot be read, cast it to text"),
    ],
)
async def test_a_query_that_cannot_be_used_is_reported_and_changes_nothing(
    empty_dsn: str, query: str, problem: str
) -> None:
    async with await psycopg.AsyncConnection.connect(empty_dsn) as connection:
        await connection.execute("create table people (email text)")
        await connection.execute("insert into people values ('ann@example.com')")
        await connection.execute(
            "create function add_person() returns int language sql as "
            "'insert into people values (''bob@example.com''); select 1'"
        )
    with pytest.raises(SourceUnreadableError) as caught:
        await read(empty_dsn, query)
    assert problem in str(caught.value)
    assert caught.value.field == FIELD
    assert not caught.value.temporary
    async with await psycopg.AsyncConnection.connect(empty_dsn) as connection:
        cursor = await connection.execute("select email from people")
        assert await cursor.fetchall() == [("ann@example.com",)]


async def test_a_query_without_a_needed_column_is_refused_even_without_rows(empty_dsn: str) -> None:
    with pytest.raises(MissingColumnError, match=r"has no column email, .* found: mail, name"):
        await read(empty_dsn, "select 'x' as mail, 'y' as name where false")


async def test_a_query_that_outlasts_the_roles_time_out_goes_on(empty_dsn: str) -> None:
    impatient = make_conninfo(empty_dsn, options="-c statement_timeout=50")
    (block,) = await read(impatient, "select 'a@example.com' as email from pg_sleep(0.2)")
    assert len(block) == 1


async def read_and_cut(dsn: str) -> None:
    query = "select n || '@example.com' as email from generate_series(1, 20000) as n"
    async with aclosing(read_query(dsn, query, ["Email"])) as blocks:
        async for _ in blocks:
            async with await psycopg.AsyncConnection.connect(dsn) as admin:
                await admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sendonce' "
                    "and datname = current_database()"
                )


async def test_a_connection_that_is_cut_may_pass(empty_dsn: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        await read_and_cut(empty_dsn)
    assert caught.value.temporary


@pytest.mark.parametrize(
    ("changed", "problem", "temporary"),
    [
        ({"dbname": "no_such_database"}, "the database does not exist, or refuses connections", False),
        ({"user": "no_such_user"}, "the server does not know the user", False),
        ({"host": "/no/such/folder"}, "nothing listens at the socket", True),
        ({"host": "127.0.0.1", "port": "1"}, "nothing listens at the host and port", True),
        ({"host": "nowhere.invalid"}, "the host name does not resolve", True),
    ],
)
async def test_a_failed_connection_says_why_and_shows_nothing_of_the_connection_string(
    empty_dsn: str, changed: dict[str, str], problem: str, temporary: bool
) -> None:
    dsn = make_conninfo(empty_dsn, **{"password": "hunter2", **changed})
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        await read(dsn, "select 1 as email")
    assert caught.value.field == "spec.recipients.postgres.dsnSecretKeyRef"
    assert caught.value.temporary is temporary
    # the kind of the failure and nothing else: libpq's own words name host, port, user and database
    assert re.fullmatch(rf"cannot connect: {problem}[a-z, ]*", caught.value.problem)


@pytest.mark.parametrize("dsn", ["postgres//ann:hunter2@127.0.0.1/db", "hunter2", "port=hunter2", ""])
async def test_a_wrong_connection_string_is_refused_without_showing_it(dsn: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        await read(dsn, "select 1 as email")
    assert "hunter2" not in str(caught.value)
    assert caught.value.field == "spec.recipients.postgres.dsnSecretKeyRef"

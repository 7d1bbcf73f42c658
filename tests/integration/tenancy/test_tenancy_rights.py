"""A tenant's login can't give itself more than it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import psycopg
import pytest
from psycopg import sql

from sendonce_store import pace
from sendonce_store.connection import Connection, connect
from sendonce_store.migrate import migrate, require_current
from sendonce_store.queries import load

if TYPE_CHECKING:
    from tests.integration.tenancy.conftest import Estate

# what runs with the owner's rights; each of them asks who is calling
_DEFINERS = {"own_namespace", "is_own_batch", "lease_slots", "pause_provider"} | {
    "move_to_canary",
    "drop_emptied_batches",
    "forget_spool",
    "campaign_links",
}
_FOR_THE_CONSOLE = {"viewed_namespaces", "namespaces_in_use"}
# of applications, and of nobody else
_FOR_APPLICATIONS = {"enqueue"}
_FOR_TENANTS = (
    _DEFINERS
    | {"hold_lease", "take_turn", "delivery_key", "hold_caps", "count_contacts"}
    | {
        "ways_on",
        "next_preferred",
    }
)

_TRIES: tuple[LiteralString, ...] = (
    "ALTER TABLE sendonce.campaigns DISABLE ROW LEVEL SECURITY",
    "DROP POLICY own ON sendonce.campaigns",
    "CREATE POLICY mine ON sendonce.campaigns USING (true)",
    "ALTER TABLE sendonce.campaigns OWNER TO CURRENT_USER",
    "CREATE TABLE sendonce.mine ()",
    "CREATE FUNCTION sendonce.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION sendonce.own_namespace() RETURNS text LANGUAGE sql AS $$ SELECT 'bank' $$",
    "CREATE TRIGGER mine BEFORE UPDATE ON sendonce.campaigns EXECUTE FUNCTION sendonce.count_updated()",
    "INSERT INTO sendonce.tenants (role, namespace, no) VALUES (session_user, 'bank', 9)",
    "UPDATE sendonce.tenants SET namespace = 'bank'",
    "SELECT * FROM sendonce.tenants",
    "SELECT sendonce.make_login('bank', 'x')",
    "SELECT sendonce.retire_login('x')",
    "SELECT sendonce.drop_login('x')",
    "SELECT sendonce.end_sessions('x')",
    "SELECT sendonce.make_group()",
    "SELECT sendonce.take_slots(1, 1::smallint, 1, 1e9)",
    "SELECT sendonce.acting_for(1)",
    "SELECT sendonce.enqueue('shop', 'spring', 'k', '{}')",
    "UPDATE sendonce.inbox SET key = 'another'",
    "DELETE FROM sendonce.inbox",
    "UPDATE sendonce.store SET id = gen_random_uuid()",
    "INSERT INTO sendonce.schema_migrations (version, name) VALUES (9999, 'later')",
    "UPDATE sendonce.campaigns SET namespace = 'bank'",
    "UPDATE sendonce.campaigns SET spec = '{}'",
    "UPDATE sendonce.campaigns SET priority = 2",
    "UPDATE sendonce.campaigns SET send_key = 'another'",
    "UPDATE sendonce.campaigns SET suspended = false",
    "UPDATE sendonce.batches SET provider_id = provider_id",
    "UPDATE sendonce.deliveries SET address = 'another'",
    "UPDATE sendonce.deliveries SET key = gen_random_uuid()",
    "DELETE FROM sendonce.batches",
    "DELETE FROM sendonce.deliveries",
    "DELETE FROM sendonce.import_spool",
    "BEGIN; LOCK TABLE sendonce.batches IN SHARE MODE",
    "BEGIN; LOCK TABLE sendonce.deliveries IN SHARE MODE",
    "BEGIN; LOCK TABLE sendonce.providers IN SHARE MODE",
    "UPDATE sendonce.deliveries SET batch_id = batch_id",
    "DELETE FROM sendonce.suppressions",
    "DELETE FROM sendonce.attempts",
    "SELECT setval('sendonce.batches_id_seq', 1)",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "ALTER ROLE CURRENT_USER CREATEROLE",
    "CREATE ROLE mine",
    "CREATE DATABASE mine",
    "SET row_security = off; SELECT * FROM sendonce.campaigns",
    "SELECT pg_read_file('postgresql.conf')",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "SELECT rolpassword FROM pg_authid",
    "COPY sendonce.import_spool FROM STDIN",
)


@pytest.mark.parametrize("statement", _TRIES)
async def test_what_is_not_a_workers_business_is_refused(estate: Estate, statement: LiteralString) -> None:
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
        await estate.shop.execute(statement)


@pytest.mark.parametrize("whom", ["CURRENT_USER", "PUBLIC"])
async def test_rights_can_not_be_passed_on_nor_widened(estate: Estate, whom: str) -> None:
    query = "SELECT relname, relacl::text, (SELECT array_agg(attacl::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid) AS columns"  # noqa: E501 - one query
    acl = (query + " FROM pg_class c WHERE relnamespace = 'sendonce'::regnamespace ORDER BY relname").encode()
    before = await (await estate.owner.execute(acl)).fetchall()
    # a warning, no error, for one who has some of the rights
    await estate.shop.execute(f"GRANT ALL ON sendonce.campaigns, sendonce.deliveries TO {whom}".encode())
    assert await (await estate.owner.execute(acl)).fetchall() == before


async def test_nothing_that_a_session_can_set_makes_it_another_namespace(estate: Estate) -> None:
    (group,) = await estate.all("SELECT sendonce.tenants_group() AS name")
    for statement in (
        "CREATE TEMP TABLE tenants (role text, namespace text, retired_at timestamptz)",
        "INSERT INTO tenants VALUES (session_user, 'bank', NULL)",
        "CREATE FUNCTION pg_temp.session_user() RETURNS text LANGUAGE sql AS $$ SELECT 'bank' $$",
        "SET search_path = pg_temp, sendonce, public",
        "SET sendonce.namespace = 'bank'",
        "SET application_name = 'bank'",
        "SET ROLE " + group["name"],
    ):
        await estate.shop.execute(statement.encode())
        cursor = await estate.shop.execute("SELECT DISTINCT namespace FROM sendonce.campaigns")
        assert await cursor.fetchall() == [{"namespace": "shop"}]


async def test_who_is_in_the_group_but_no_tenant_sees_nothing_and_takes_no_slots(estate: Estate) -> None:
    (group,) = await estate.all("SELECT sendonce.tenants_group() AS name")
    await estate.owner.execute("DELETE FROM sendonce.tenants WHERE namespace = 'shop'")
    for table in ("campaigns", "providers", "pace_limits", "suppressions"):
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier("sendonce", table))
        assert await (await estate.shop.execute(query)).fetchall() == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"shop_\w+ has no namespace in this store"):
        await pace.lease_slots(estate.shop, estate.shared, 1, 1)
    assert group["name"].startswith("sendonce_tenants_")


async def test_logins_have_no_attribute_and_one_membership(estate: Estate) -> None:
    rows = await estate.all(
        "SELECT r.rolcanlogin, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls,"
        " (SELECT array_agg(m.roleid::regrole::text) FROM pg_auth_members m WHERE m.member = r.oid) AS of"
        " FROM pg_roles r JOIN sendonce.tenants t ON t.role = r.rolname"
    )
    (group,) = await estate.all("SELECT sendonce.tenants_group() AS name")
    off = dict.fromkeys(("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls"), False)
    assert rows == [{"rolcanlogin": True, **off, "of": [group["name"]]}] * 2


async def test_functions_are_pinned_and_only_those_for_tenants_are_theirs(estate: Estate) -> None:
    rows = await estate.all(
        "SELECT p.proname AS name, p.prosecdef AS definer, p.proconfig IS NOT NULL AS pinned,"
        " has_function_privilege(%(shop)s, p.oid, 'EXECUTE') AS theirs, p.prorettype = 'trigger'::regtype AS fires"
        " FROM pg_proc p WHERE p.pronamespace = 'sendonce'::regnamespace",
        shop=estate.roles["shop"],
    )
    # those of the gateway are for its own login: test_gateway_store.py
    definers = {row["name"] for row in rows if row["definer"] and not row["name"].startswith("gateway_")}
    assert definers == _DEFINERS | _FOR_APPLICATIONS | _FOR_THE_CONSOLE
    assert {row["name"] for row in rows if row["theirs"]} == _FOR_TENANTS & {row["name"] for row in rows}
    # the key's function is inlined, as one with settings is not
    assert {row["name"] for row in rows if not row["pinned"]} == {"delivery_key"}


async def test_a_worker_may_look_whether_the_schema_fits(estate: Estate) -> None:
    await require_current(estate.shop)


async def test_a_name_in_public_is_not_taken_for_one_of_postgresqls_own(estate: Estate, dsn: str) -> None:
    """On PostgreSQL 14 everybody may make functions in `public`: the operator's sessions don't look there."""
    await estate.owner.execute(
        "CREATE FUNCTION public.power(integer, integer) RETURNS float8 LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE 'hijacked'; END $$"
    )
    conn = await connect(dsn)
    assert await pace.pause(conn, estate.shared, None, "429", "slow down") > 0
    assert await (await conn.execute("SELECT power(2, 3) AS n")).fetchone() == {"n": 8.0}
    await conn.close()


async def test_migrate_gives_the_rights_anew(estate: Estate, dsn: str) -> None:
    await estate.owner.execute(
        sql.SQL("REVOKE ALL ON sendonce.campaigns FROM {}").format(
            sql.Identifier((await estate.all("SELECT sendonce.tenants_group() AS name"))[0]["name"])
        )
    )
    await estate.refused("SELECT FROM sendonce.campaigns")
    assert await migrate(dsn) == 0
    assert (await estate.shop.execute("SELECT FROM sendonce.campaigns")).rowcount == 1


async def test_a_store_without_tenants_needs_no_roles(owner: Connection) -> None:
    await owner.execute(load("tenancy")["grant_rights"])
    cursor = await owner.execute("SELECT to_regrole(sendonce.tenants_group()) IS NULL AS none")
    assert await cursor.fetchone() == {"none": True}

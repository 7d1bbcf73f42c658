"""What the documents of `examples/` need beside them, so that each runs as it stands: lists, Secrets, providers.

In: where the far ends are. Out: objects for one namespace. The providers have the names and the addresses of real ones
(api.line.me, …), which the cluster's name server leads to the simulated far end, over TLS. People's addresses say what
becomes of them: `lost+…`, `permanent+…`, `transient+…` (see `sendonce simulate --help`).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import yaml
from psycopg.conninfo import make_conninfo
from tests.cluster.e2e.outside import Database, FarEnd
from tests.cluster.e2e.shop import Object, config_map, provider

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
READERS = 1500
# of the readers: whom the server turns away at first, and whose answer is lost
BUSY = tuple(f"transient+n{no}@example.com" for no in range(8))
LOST = tuple(f"lost+n{no}@example.com" for no in range(8))
SOME = 30
CANARY, FOLLOWING = 100, 40
TOKENS = 300
# seconds: without keys, an answer that comes late on a busy machine would leave its message uncertain
TIMEOUT = 30


def documents(name: str) -> list[Object]:
    """The documents of an example, as they stand."""
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text("utf-8")))


def is_over(document: Object) -> bool:
    """Whether the deadline of a campaign has passed by now."""
    deadline = document["spec"].get("schedule", {}).get("deadline")
    return deadline is not None and datetime.fromisoformat(deadline) <= datetime.now(UTC)


def later(document: Object) -> Object:
    """A campaign whose deadline is far off, and which is as it stands in all else."""
    schedule = {**document["spec"]["schedule"], "deadline": "2999-12-04T00:00:00Z"}
    return {**document, "spec": {**document["spec"], "schedule": schedule}}


def secret(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def csv(header: str, rows: Iterable[str]) -> str:
    return "\n".join([header, *rows, ""])


def emails(letter: str, count: int) -> list[str]:
    return [f"{letter}{no}@example.com" for no in range(count)]


def readers() -> list[str]:
    return [*BUSY, *LOST, *emails("n", READERS - len(BUSY) - len(LOST))]


def members() -> list[tuple[str, str, str]]:
    """Id, LINE id, email: LINE takes the first third and refuses the second, the last third has no LINE id."""
    kinds = ("U{no}", "permanent+U{no}", "")
    return [(f"m{no}", kinds[no * 3 // SOME].format(no=no), f"m{no}@example.com") for no in range(SOME)]


def zone(hour: int) -> str:
    """A time zone in which it is so late now."""
    east = (hour - datetime.now(UTC).hour + 12) % 24 - 12
    # the signs of these names are POSIX's: west is plus
    return f"Etc/GMT{-east:+d}" if east else "Etc/GMT"


def phones(first: int, count: int) -> list[str]:
    return [f"+1500555{first + no:04d}" for no in range(count)]


def flash() -> Object:
    """Some who are awake now (it is two in the afternoon), and some who are asleep (two at night)."""
    awake = [f"{phone},{zone(14)}" for phone in phones(1000, SOME)]
    asleep = [f"{phone},{zone(2)}" for phone in phones(2000, SOME)]
    return config_map("flash", **{"f.csv": csv("phone,timezone", awake + asleep)})


def lists() -> list[Object]:
    """ConfigMaps and Secrets with people, and the newsletter's words."""
    of_emails = {"newsletter": readers(), "canary": emails("c", CANARY + FOLLOWING), "breach": emails("b", SOME)}
    sheets = {name: csv("email,name", (f"{address},Mia" for address in of_emails[name])) for name in of_emails}
    return [
        config_map("readers-2026-12", **{"readers.csv": sheets["newsletter"]}),
        config_map("newsletter-2026-12", subject="News for {{ name }}", text="Dear {{ name }}, this is all."),
        config_map("r", **{"r.csv": sheets["canary"]}),
        secret("breach", **{"users.csv": sheets["breach"]}),
        secret("members", **{"m.csv": csv("id,line,email", map(",".join, members()))}),
        flash(),
    ]


def tokens() -> list[str]:
    return [f"token-{no}" for no in range(TOKENS)]


def write_tokens(folder: Path) -> str:
    """Write the list of push tokens as gzip NDJSON; returns the file's name."""
    rows = [json.dumps({"id": f"of {token}", "push": token, "name": "Mia"}) for token in tokens()]
    (folder / "spring.ndjson.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    return "spring.ndjson.gz"


def customers(store: Database) -> str:
    """Make another database with customers, of whom some are dormant; returns how Pods reach it, only to read."""
    with psycopg.connect(store.server, autocommit=True) as connection:
        connection.execute("CREATE ROLE crm_readonly LOGIN PASSWORD 'only-to-read'")
        connection.execute("CREATE DATABASE crm")
    with psycopg.connect(make_conninfo(store.server, dbname="crm")) as connection:
        connection.execute(
            "CREATE TABLE customers (id text, email text, tz text, first_name text, last_seen timestamptz)"
        )
        connection.execute("GRANT SELECT ON customers TO crm_readonly")
        seen = {"d": timedelta(days=100), "active": timedelta(days=1)}
        rows = [(mail, mail, "Europe/Rome", "Mia", age) for kind, age in seen.items() for mail in emails(kind, SOME)]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO customers VALUES (%s, %s, %s, %s, now() - %s)", rows)
    return make_conninfo(store.address, dbname="crm", user="crm_readonly", password="only-to-read")


def providers(far_end: FarEnd) -> list[Object]:
    """`smtp`, `line` and `fcm`, which the documents name."""
    smtp = {"host": "smtp.example.com", "port": far_end.smtp, "tls": "StartTLS"}
    line: dict[str, Any] = {
        "url": "https://api.line.me/v2/bot/message/push",
        "headers": {"Authorization": "Bearer {{ secret.token }}"},
        "bodyTemplate": '{"to": "{{ to }}", "messages": [{"type": "text", "text": "{{ text }}"}]}',
        "idempotencyKeyHeader": "X-Line-Retry-Key",
        "keyWindowSeconds": 86_400,
        # a repeat of what was accepted (LINE's reference, "Retry an API request")
        "errorRules": [{"status": 409, "as": "AlreadyAccepted"}],
    }
    fcm = {
        "url": "https://fcm.googleapis.com/v1/projects/shop/messages:send",
        "bodyTemplate": '{"message": {"token": "{{ to }}", "notification": {"body": "{{ text }}"}}}',
    }
    return [
        provider("smtp", type="SMTP", smtp=smtp, timeoutSeconds=TIMEOUT),
        provider("line", type="HTTP", http=line, timeoutSeconds=TIMEOUT, credentialsSecretRef={"name": "line"}),
        provider("fcm", type="HTTP", http=fcm, timeoutSeconds=TIMEOUT),
    ]

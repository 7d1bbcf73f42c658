"""Wrong input to `sendonce run`: exit code 2, a message that names place, problem and cure, and nothing half-done."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from sendonce_store.connection import Connection

Sendonce = Callable[..., Awaitable[Any]]

TEMPLATE = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Dear {{ name }}"}
SMTP = {"type": "SMTP", "smtp": {"host": "127.0.0.1", "port": 2525, "tls": "None"}}
GOOD_CSV = b"email,name\nmia@example.com,Mia\n"


def message(**template: Any) -> dict[str, Any]:
    return {"channel": "Email", "providerRef": {"name": "far-end"}, "template": {**TEMPLATE, **template}}


def campaign(**spec: Any) -> dict[str, Any]:
    given = {
        "category": "Marketing",
        "recipients": {"configMapKeyRef": {"name": "readers", "key": "r"}, "format": "CSV"},
        "messages": [message()],
        **spec,
    }
    return document("NotificationCampaign", "spring", given)


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "sendonce.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def provider(spec: dict[str, Any]) -> dict[str, Any]:
    return document("NotificationProvider", "far-end", spec)


def secret(**data: bytes) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"}, "data": encoded}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good list of readers."""
    readers = tmp_path / "configmaps" / "readers"
    readers.mkdir(parents=True)
    (readers / "r").write_bytes(GOOD_CSV)
    return tmp_path


@pytest.fixture
def refuse(sendonce: Sendonce, folder: Path, conn: Connection) -> Callable[..., Awaitable[list[str]]]:
    """Return a function: documents in, the error lines of `sendonce run` out. Nothing may have been written."""

    async def run(*documents: dict[str, Any] | str, readers: bytes | None = None) -> list[str]:
        if readers is not None:
            (folder / "configmaps" / "readers" / "r").write_bytes(readers)
        texts = [one if isinstance(one, str) else yaml.safe_dump(one, sort_keys=False) for one in documents]
        (folder / "spring.yaml").write_text("---\n".join(texts), "utf-8")
        ran = await sendonce("run", str(folder / "spring.yaml"))
        assert ran.code == 2, ran.err
        assert ran.out == ""
        assert "Traceback" not in ran.err
        cursor = await conn.execute(
            "SELECT (SELECT count(*) FROM sendonce.campaigns) + (SELECT count(*) FROM sendonce.providers) AS n"
        )
        assert await cursor.fetchone() == {"n": 0}
        lines = ran.err.splitlines()
        assert all(line.startswith("error: ") for line in lines)
        return [line.removeprefix("error: ").replace(f"{folder}/", "") for line in lines]

    return run


Refuse = Callable[..., Awaitable[list[str]]]


async def test_broken_yaml(refuse: Refuse) -> None:
    (line,) = await refuse("kind: NotificationCampaign\nspec: {a: [1, 2}\n")
    assert line.startswith("spring.yaml:2: ")


async def test_an_unknown_field_with_the_nearest_known_one(refuse: Refuse) -> None:
    (line,) = await refuse(campaign(categroy="Marketing"), provider(SMTP))
    assert line.startswith("spring.yaml:")
    assert "categroy" in line
    assert "category" in line


async def test_all_mistakes_of_all_documents_at_once(refuse: Refuse) -> None:
    wrong = {**SMTP, "timeoutSeconds": "soon", "limits": [{"messages": 0, "periodSeconds": 1}]}
    lines = await refuse(campaign(priority="Urgent", retry={"factor": 0}), provider(wrong))
    assert [field for line in lines for field in line.split() if field.startswith("spec.")] == [
        "spec.priority:",
        "spec.retry.factor:",
        "spec.timeoutSeconds:",
        "spec.limits[0].messages:",
    ]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"recipients": {"configMapKeyRef": {"name": "r", "key": "r"}, "inline": [{"email": "a@example.com"}]}},
            "source",
        ),
        ({"recipients": {"format": "CSV"}}, "source"),
        (
            {"schedule": {"quietHours": {"from": "21:00", "to": "09:00", "defaultTimezone": "Asia/Tokio"}}},
            "Asia/Tokyo",
        ),
        (
            {"schedule": {"startAt": "2030-01-02T00:00:00Z", "deadline": "2030-01-01T00:00:00Z"}},
            "spec.schedule.deadline: must be later than startAt",
        ),
        ({"recipients": {"inline": [{"phone": "+15005550006"}]}}, "no address for any channel"),
    ],
)
async def test_what_contradicts_itself(refuse: Refuse, spec: dict[str, Any], words: str) -> None:
    lines = await refuse(campaign(**spec), provider(SMTP))
    assert any(words in line for line in lines), lines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dear {{ name", "spec.messages[0].template.text: line 1 of the template"),
        ("{% if name %}Dear", "spec.messages[0].template.text"),
        ("{{ nmae }}", "'nmae' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "spec.messages[0].template.text"),
        ("{{ 'x' * 1000000000 }}", "spec.messages[0].template.text"),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}",
            "spec.messages[0].template.text",
        ),
    ],
)
async def test_a_template_that_no_recipient_can_be_sent(refuse: Refuse, text: str, words: str) -> None:
    (line,) = await refuse(campaign(messages=[message(text=text)]), provider(SMTP))
    assert line.startswith("spring.yaml:")
    assert words in line


async def test_a_variable_that_would_break_a_header(refuse: Refuse) -> None:
    readers = b'email,name\nmia@example.com,"Mia\r\nBcc: all@example.com"\n'
    (line,) = await refuse(campaign(), provider(SMTP), readers=readers)
    assert "spec.messages[0].template.subject: can be rendered for none of the first recipients" in line
    assert "Bcc" not in line


@pytest.mark.parametrize(
    ("readers", "words"),
    [
        (b"mail,name\nmia@example.com,Mia\n", "spec.recipients.configMapKeyRef: has no column email"),
        ("email,name\nmia@example.com,Mia\n".encode("utf-16"), "UTF-16"),
        (b"email,name\nmia@example.com,M\xfcller\n", "no row can be used: line 2: name"),
        (b"email,name\n" + b"a" * 10_000 + b"@example.com,Mia\n", "no row can be used: line 2: email"),
        (b"<!doctype html><title>Log in</title>", "spec.recipients.configMapKeyRef: is an HTML or XML page"),
    ],
)
async def test_a_list_of_which_no_row_can_be_used(refuse: Refuse, readers: bytes, words: str) -> None:
    (line,) = await refuse(campaign(), provider(SMTP), readers=readers)
    assert words in line
    assert len(line) < 500


async def test_a_line_of_100_megabytes(refuse: Refuse, folder: Path) -> None:
    with (folder / "configmaps" / "readers" / "r").open("wb") as file:
        file.write(b"email,name\n")
        for _ in range(100):
            file.write(b"m" * 1_000_000)
        file.write(b"\n")
    (line,) = await refuse(campaign(), provider(SMTP))
    assert "no row can be used: line 2: row: is longer than" in line


async def test_recipients_without_an_address_for_the_channel(refuse: Refuse) -> None:
    recipients = {"configMapKeyRef": {"name": "readers", "key": "r"}, "format": "NDJSON"}
    (line,) = await refuse(campaign(recipients=recipients), provider(SMTP), readers=b'{"phone": "+15005550006"}\n')
    assert "spec.recipients: none of the first 1 recipients has an address: give email" in line


async def test_a_list_that_is_not_there_with_the_place_where_it_is_looked_for(refuse: Refuse, folder: Path) -> None:
    gone = {"configMapKeyRef": {"name": "writers", "key": "w.csv"}, "format": "CSV"}
    (line,) = await refuse(campaign(recipients=gone), provider(SMTP))
    assert "spec.recipients.configMapKeyRef: there is no ConfigMap writers" in line
    assert "write it to configmaps/writers/w.csv" in line
    (line,) = await refuse(
        campaign(recipients={**gone, "configMapKeyRef": {"name": "readers", "key": "w.csv"}}), provider(SMTP)
    )
    assert "ConfigMap readers has no key w.csv; it has r" in line


async def test_a_template_that_is_not_there(refuse: Refuse) -> None:
    template = {"from": "a@example.com", "subject": "s", "configMapRef": {"name": "letter"}}
    messages = [{"channel": "Email", "providerRef": {"name": "far-end"}, "template": template}]
    (line,) = await refuse(campaign(messages=messages), provider(SMTP))
    assert "spec.messages[0].template.configMapRef.name: there is no ConfigMap letter" in line


async def test_a_mistake_in_a_template_from_a_config_map_is_told_with_its_key(refuse: Refuse, folder: Path) -> None:
    (folder / "configmaps" / "letter").mkdir()
    (folder / "configmaps" / "letter" / "text").write_text("one\n{{ broken", "utf-8")
    template = {"from": "a@example.com", "subject": "s", "configMapRef": {"name": "letter"}}
    messages = [{"channel": "Email", "providerRef": {"name": "far-end"}, "template": template}]
    (line,) = await refuse(campaign(messages=messages), provider(SMTP))
    assert "ConfigMap letter, key text: line 2 of the template" in line


HTTP = {
    "type": "HTTP",
    "credentialsSecretRef": {"name": "creds"},
    "http": {
        "url": "http://127.0.0.1:9/",
        "headers": {"Authorization": "Bearer {{ secret.token }}"},
        "bodyTemplate": '{"to": {{ to | tojson }}}',
    },
}


async def test_a_missing_secret(refuse: Refuse) -> None:
    (line,) = await refuse(campaign(), provider(HTTP))
    assert "spec.credentialsSecretRef.name: there is no Secret creds" in line


@pytest.mark.parametrize(
    ("given", "words"), [(secret(password=b"geheimnis"), "token"), (secret(token=b"\xff\xfegeheimnis"), "not UTF-8")]
)
async def test_a_wrong_secret_which_is_not_shown(refuse: Refuse, given: dict[str, Any], words: str) -> None:
    (line,) = await refuse(campaign(), provider(HTTP), given)
    assert words in line
    assert "geheimnis" not in line


async def test_a_provider_that_nobody_knows(refuse: Refuse) -> None:
    (line,) = await refuse(campaign())
    assert "spec.messages[0].providerRef.name: there is no NotificationProvider far-end" in line


async def test_a_far_end_whose_name_does_not_resolve(refuse: Refuse) -> None:
    smtp = {"type": "SMTP", "smtp": {"host": "mail.nobody.invalid", "tls": "None"}}
    (line,) = await refuse(campaign(), provider(smtp))
    assert "spec.smtp.host: the name mail.nobody.invalid does not resolve" in line


@pytest_asyncio.fixture
async def login_page() -> AsyncIterator[str]:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!DOCTYPE html><title>Please log in</title>", content_type="text/html")

    application = web.Application()
    application.router.add_get("/", page)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def test_a_source_that_answers_html_with_status_200(refuse: Refuse, login_page: str) -> None:
    (line,) = await refuse(campaign(recipients={"http": {"url": login_page}, "format": "CSV"}), provider(SMTP))
    assert "spec.recipients.http.url" in line
    assert "HTML" in line


async def test_a_list_in_another_database_that_is_not_there(refuse: Refuse) -> None:
    postgres = {"dsnSecretKeyRef": {"name": "creds", "key": "dsn"}, "query": "SELECT 1 AS email"}
    given = secret(dsn=b"postgresql://mia:geheimnis@127.0.0.1:1/list")
    (line,) = await refuse(campaign(recipients={"postgres": postgres}), provider(SMTP), given)
    assert "spec.recipients.postgres.dsnSecretKeyRef: cannot connect: nothing listens" in line
    assert "geheimnis" not in line


# --- the command line and the store ----------------------------------------------------------------------------------


@pytest.fixture
def good(folder: Path) -> str:
    file = folder / "good.yaml"
    file.write_text(yaml.safe_dump_all([campaign(), provider(SMTP)]), "utf-8")
    return str(file)


async def test_a_file_that_is_not_there(sendonce: Sendonce) -> None:
    ran = await sendonce("run", "nowhere.yaml")
    assert ran.code == 2
    assert ran.err == (
        "error: nowhere.yaml: No such file or directory; give the path of a YAML file, or - for standard input\n"
    )


async def test_files_without_a_campaign(sendonce: Sendonce, folder: Path) -> None:
    (folder / "p.yaml").write_text(yaml.safe_dump(provider(SMTP)), "utf-8")
    ran = await sendonce("run", str(folder / "p.yaml"))
    assert ran.code == 2
    assert "there is no NotificationCampaign in there" in ran.err


async def test_several_campaigns_of_which_none_was_chosen(sendonce: Sendonce, folder: Path) -> None:
    both = [campaign(), {**campaign(), "metadata": {"name": "autumn"}}]
    (folder / "both.yaml").write_text(yaml.safe_dump_all(both), "utf-8")
    ran = await sendonce("run", str(folder / "both.yaml"))
    assert ran.code == 2
    assert "hold 2 campaigns: spring, autumn; choose one with --campaign NAME" in ran.err


async def test_the_same_object_in_two_files(sendonce: Sendonce, folder: Path, good: str) -> None:
    (folder / "p.yaml").write_text(yaml.safe_dump(provider(SMTP)), "utf-8")
    ran = await sendonce("run", good, "--provider", str(folder / "p.yaml"))
    assert ran.code == 2
    assert "NotificationProvider far-end is in" in ran.err


@pytest.mark.parametrize(
    ("dsn", "words"),
    [
        ("postgresql://user:geheimnis@127.0.0.1:1/sendonce", "127.0.0.1:1 can't be used"),
        ("postgresql://user:geheimnis@db.nobody.invalid/sendonce", "db.nobody.invalid:5432 can't be used"),
        ("geheimnis", "--database: is not a connection string such as postgresql://"),
    ],
)
async def test_a_database_that_is_not_there(sendonce: Sendonce, good: str, dsn: str, words: str) -> None:
    for command in (["run", good], ["status"], ["migrate"]):
        ran = await sendonce(*command, "--database", dsn)
        assert ran.code == 2
        assert words in ran.err
        assert "geheimnis" not in ran.err
        assert len(ran.err.splitlines()) == 1


async def test_a_schema_that_is_too_new(sendonce: Sendonce, good: str, conn: Connection) -> None:
    await conn.execute("INSERT INTO sendonce.schema_migrations (version, name) VALUES (9999, 'future')")
    for command in (["run", good], ["status"], ["migrate"]):
        ran = await sendonce(*command)
        assert ran.code == 2
        assert "the schema is version 9999" in ran.err
        assert "upgrade this program" in ran.err


async def test_a_schema_that_is_missing(sendonce: Sendonce, good: str, empty_dsn: str) -> None:
    ran = await sendonce("status", "--database", empty_dsn)
    assert ran.code == 2
    assert "run `sendonce migrate`" in ran.err
    ran = await sendonce("run", good, "--database", empty_dsn, "--no-migrate")
    assert ran.code == 2
    assert "run `sendonce migrate`" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "Missing argument 'FILE...'"),
        (["run", "x.yaml", "--workers", "0"], "--workers"),
        (["runn"], "No such command 'runn'"),
        (["status", "--outptu", "json"], "--outptu"),
        (["recipients", "spring", "--after", "soon"], "--after: 'soon' is no place such as 12-500"),
        (["rejects", "spring", "--after", "soon"], "--after: 'soon' is no line number"),
        (["resolve", "spring", "--as", "maybe"], "--as"),
        (["purge"], "give either CAMPAIGN or --due"),
    ],
)
async def test_wrong_usage_is_told_in_one_line(sendonce: Sendonce, arguments: list[str], words: str) -> None:
    ran = await sendonce(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 1

"""A worker that can't begin says why, and with which exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew


async def test_without_its_settings_it_names_the_missing_one(crew: Crew) -> None:
    worker = await crew.start(SENDONCE_SEND_KEY="")
    assert await worker.exit_code() == 2
    assert "SENDONCE_SEND_KEY is not set" in worker.words


async def test_without_its_secret_it_says_which_one_and_where_it_looked(world: World, crew: Crew) -> None:
    await world.campaign(1, provider={"credentialsSecretRef": {"name": "api-token"}})
    worker = await crew.start()
    assert await worker.exit_code() == 2
    assert "SecretNotFound: Secret api-token is not there" in worker.words
    assert str(crew.files) in worker.words


async def test_without_a_campaign_it_names_the_send_key(world: World, crew: Crew) -> None:
    worker = await crew.start(SENDONCE_SEND_KEY="autumn")
    assert await worker.exit_code() == 2
    assert "there is no campaign with send key 'autumn' in namespace 'default'" in worker.words


async def test_without_a_store_it_names_the_host_and_never_the_password(crew: Crew) -> None:
    worker = await crew.start(SENDONCE_DSN="postgresql://me:hunter2@127.0.0.1:1/store")
    assert await worker.exit_code() == 3
    assert "database store at 127.0.0.1:1 can't be used" in worker.words
    assert "hunter2" not in worker.words


async def test_with_a_schema_that_is_too_new_it_asks_to_be_upgraded(world: World, crew: Crew) -> None:
    await world.conn.execute("INSERT INTO sendonce.schema_migrations (version, name) VALUES (9999, 'later')")
    worker = await crew.start()
    assert await worker.exit_code() == 3
    assert "upgrade this program" in worker.words


async def test_with_a_template_that_is_wrong_it_names_field_line_and_fix(world: World, crew: Crew) -> None:
    template = {"from": "a@example.com", "subject": "s", "text": "Hello\n{{ name|uper }}"}
    await world.campaign(1, messages=[_message(template)])
    worker = await crew.start()
    assert await worker.exit_code() == 2
    assert "InvalidSpec: messages[Email].template.text, line 2: there is no filter 'uper'; did you mean" in worker.words
    assert "Traceback" not in worker.words


async def test_with_another_file_than_the_campaign_was_begun_with_it_sends_nothing(world: World, crew: Crew) -> None:
    file = {"name": "terms.pdf", "configMapKeyRef": {"name": "files", "key": "terms.pdf"}, "sha256": "0" * 64}
    template = {"from": "a@example.com", "subject": "s", "text": "t", "attachments": [file]}
    smtp = {"type": "SMTP", "http": None, "smtp": {"host": "127.0.0.1", "port": 9, "tls": "None"}}
    campaign = await world.campaign(1, provider=smtp, messages=[_message(template)])
    (crew.files / "configmaps" / "files").mkdir(parents=True)
    (crew.files / "configmaps" / "files" / "terms.pdf").write_bytes(b"other")
    worker = await crew.start()
    assert await worker.exit_code() == 2
    assert "attachments[terms.pdf]: key terms.pdf of ConfigMap files has changed" in worker.words
    assert await campaign.states() == {"pending": 1}


def _message(template: dict[str, Any]) -> dict[str, Any]:
    return {"channel": "Email", "providerRef": {"name": "far-end"}, "template": template}

"""Recipients from mounted ConfigMaps and Secrets, and from the spec itself."""

import gzip
from contextlib import aclosing
from pathlib import Path

import pytest

from sendonce_store.recipients import Position, Recipient
from sendonce_store.spec.recipients import Recipients
from sendonce_worker.importing import (
    Block,
    ConfigMapNotFoundError,
    Files,
    ImportSourceError,
    SecretNotFoundError,
    SourceChangedError,
    SourceUnreadableError,
    open_import,
)

CSV = b"id,email,name\n1,ann@example.com,Ann\n2,bad,Bob\n3,cy@example.com,Cy\n"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def mount(files: Files, kind: str, name: str, **keys: bytes) -> None:
    folder = files.root / kind / name
    folder.mkdir(parents=True, exist_ok=True)
    for key, data in keys.items():
        (folder / key.replace("_", ".")).write_bytes(data)


def config_map(key: str = "r.csv", **more: str) -> Recipients:
    wire = {"configMapKeyRef": {"name": "readers", "key": key}, "format": "CSV", **more}
    return Recipients.from_wire(wire)


async def read(spec: Recipients, files: Files, position: Position | None = None) -> list[Block]:
    async with aclosing(open_import(spec, ["Email"], files, position)) as blocks:
        return [block async for block in blocks]


def people(blocks: list[Block]) -> list[Recipient]:
    return [recipient for block in blocks for recipient in block.recipients]


async def test_a_config_map_is_read_and_its_bad_rows_are_listed(files: Files) -> None:
    mount(files, "configmaps", "readers", r_csv=CSV)
    (block,) = await read(config_map(), files)
    assert [recipient.ref for recipient in block.recipients] == ["1", "3"]
    (rejected,) = block.rejected
    assert (rejected.line, rejected.field, rejected.excerpt) == (3, "email", "bad")
    assert "must have an @-sign" in rejected.reason
    assert (block.lines, block.position.line, block.position.offset) == (3, 4, len(CSV))


async def test_a_secret_is_read_and_its_bad_rows_are_not_shown(files: Files) -> None:
    mount(files, "secrets", "readers", r_csv=CSV)
    spec = Recipients.from_wire({"secretKeyRef": {"name": "readers", "key": "r.csv"}, "format": "CSV"})
    (block,) = await read(spec, files)
    assert [(row.line, row.field, row.excerpt) for row in block.rejected] == [(3, "email", "")]


async def test_a_compressed_file_is_expanded(files: Files) -> None:
    mount(files, "configmaps", "readers", r_csv=gzip.compress(CSV))
    assert len(people(await read(config_map(compression="Gzip"), files))) == 2
    with pytest.raises(SourceUnreadableError, match="set compression: Gzip"):
        await read(config_map(), files)


async def test_a_large_file_comes_in_blocks_and_resumes_behind_each(files: Files) -> None:
    data = b"email\n" + b"".join(b"p%d@example.com\n" % number for number in range(30_000))
    mount(files, "configmaps", "readers", r_csv=data)
    blocks = await read(config_map(), files)
    assert len(blocks) > 5
    everybody = people(blocks)
    assert len(everybody) == 30_000
    for number in (1, 5, len(blocks)):
        rest = await read(config_map(), files, blocks[number - 1].position)
        assert people(blocks[:number]) + people(rest) == everybody


async def test_a_file_that_changed_meanwhile_is_not_resumed(files: Files) -> None:
    mount(files, "configmaps", "readers", r_csv=CSV)
    (block,) = await read(config_map(), files)
    mount(files, "configmaps", "readers", r_csv=CSV.replace(b"cy@", b"di@"))
    with pytest.raises(SourceChangedError) as caught:
        await read(config_map(), files, block.position)
    assert str(caught.value).startswith(
        "spec.recipients.configMapKeyRef: the source changed since line 4 was read: the part that was read then reads "
        "otherwise now; start a new campaign"
    )


async def test_a_missing_config_map_or_key_is_named(files: Files) -> None:
    with pytest.raises(ConfigMapNotFoundError) as caught:
        await read(config_map(), files)
    assert str(caught.value) == (
        "spec.recipients.configMapKeyRef: ConfigMap readers with key r.csv is not there; create it in the campaign's "
        "namespace"
    )
    mount(files, "configmaps", "readers", other_csv=CSV)
    with pytest.raises(ConfigMapNotFoundError, match=r"ConfigMap readers has no key r\.csv; it has other\.csv"):
        await read(config_map(), files)


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        ({"secretKeyRef": {"name": "s", "key": "k"}, "format": "CSV"}, "secretKeyRef: Secret s with key k"),
        (
            {"http": {"urlSecretKeyRef": {"name": "s", "key": "url"}}, "format": "CSV"},
            r"http\.urlSecretKeyRef: Secret s with key url is not there",
        ),
        (
            {"http": {"url": "http://127.0.0.1:1/", "headersSecretRef": {"name": "h"}}, "format": "CSV"},
            r"http\.headersSecretRef: Secret h is not there, or holds nothing",
        ),
    ],
)
async def test_a_missing_secret_is_named(files: Files, wire: dict[str, object], problem: str) -> None:
    with pytest.raises(SecretNotFoundError, match=problem):
        await read(Recipients.from_wire(wire), files)


async def test_every_error_names_its_field_and_whether_it_may_pass(files: Files) -> None:
    mount(files, "configmaps", "readers", r_csv=b"")
    with pytest.raises(ImportSourceError) as caught:
        await read(config_map(), files)
    assert caught.value.field == "spec.recipients.configMapKeyRef"
    assert caught.value.problem.startswith("is empty")
    assert caught.value.temporary is False


async def test_inline_recipients_are_one_block(files: Files) -> None:
    wire = {
        "inline": [
            {"id": "a", "email": "Ann@Example.com", "timezone": "asia/tokyo", "variables": {"name": "Ann", "n": [1]}},
            {"id": "b", "email": "nobody"},
            {"id": "c", "phone": "+15005550006"},
            {"id": "d", "email": "di@example.com", "variables": {"name": "\x00"}},
        ]
    }
    spec = Recipients.from_wire(wire)
    (block,) = await read(spec, files)
    ann, cy = block.recipients
    assert (ann.line, ann.ref, ann.timezone, ann.variables) == (1, "a", "Asia/Tokyo", {"name": "Ann", "n": [1]})
    assert ann.addresses["Email"].original == "Ann@example.com"
    assert (cy.line, cy.addresses, cy.variables) == (3, {}, {})
    assert [(row.line, row.field) for row in block.rejected] == [(2, "email"), (4, "name")]
    assert block.lines == 4
    assert await read(spec, files, block.position) == []

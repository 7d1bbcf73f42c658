"""A pinned file of an npm package: fetched once, checked before it is used. `npm` is a program of the test's own."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from tools.npm import NotFetchedError, Pinned

SCRIPT = b"window.drawn = true;"


def archive() -> bytes:
    """The package as the registry has it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as contents:
        entry = tarfile.TarInfo("package/dist/it.min.js")
        entry.size = len(SCRIPT)
        contents.addfile(entry, io.BytesIO(SCRIPT))
    return packed.getvalue()


def pinned(digest: str) -> Pinned:
    return Pinned("it", "1.2.3", digest, "package/dist/it.min.js", "it-1.2.3.min.js")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have an `npm` that packs the archive and counts how often it was asked; return the archive's digest."""
    package = archive()
    (tmp_path / "it.tgz").write_bytes(package)
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$*" = "pack --silent it@1.2.3" ] || exit 1\necho x >> {tmp_path}/asked\n'
        f"cp {tmp_path}/it.tgz it-1.2.3.tgz\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return base64.b64encode(hashlib.sha512(package).digest()).decode()


def test_it_is_fetched_once_and_kept(registry: str, tmp_path: Path) -> None:
    assert pinned(registry).path().read_bytes() == SCRIPT
    assert pinned(registry).path() == tmp_path / "cache/sendonce/it-1.2.3.min.js"
    assert (tmp_path / "asked").read_text() == "x\n"


def test_another_digest_is_not_used(registry: str) -> None:
    with pytest.raises(NotFetchedError, match=r"it 1\.2\.3 has digest .*, expected abc: not used"):
        pinned("abc").path()
    assert pinned(registry).path().read_bytes() == SCRIPT


def test_a_registry_that_is_away_is_named_as_the_reason(registry: str) -> None:
    with pytest.raises(NotFetchedError, match=r"npm could not fetch it 9\.9\.9: is there a way to the registry"):
        Pinned("it", "9.9.9", registry, "package/dist/it.min.js", "it-9.9.9.min.js").path()


def test_without_npm_the_cure_is_said(registry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotFetchedError, match=r"npm is not installed: it comes by it; on Debian: apt-get install npm"):
        pinned(registry).path()

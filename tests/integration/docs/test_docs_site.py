"""`make site`: built without a warning, and read without anything from elsewhere."""

import re
import shutil
import subprocess

import pytest
from tests.docs_cases.blocks import ROOT

SITE = ROOT / "build" / "site"
_LOADED = re.compile(r'<(?:script|img|link|iframe)[^>]*?(?:src|href)="(?P<address>[^"]+)"')


@pytest.fixture(scope="module")
def site() -> list[str]:
    """The pages of the site, as they are served."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: the site's drawings come by it")
    built = subprocess.run(["make", "site"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    assert built.returncode == 0, built.stdout + built.stderr
    return [file.read_text("utf-8") for file in SITE.rglob("*.html")]


@pytest.mark.timeout(300)
def test_the_site_is_built_and_loads_nothing_from_elsewhere(site: list[str]) -> None:
    assert len(site) > 20
    loaded = {found["address"] for page in site for found in _LOADED.finditer(page)}
    assert loaded
    assert [address for address in sorted(loaded) if "//" in address] == []
    assert (SITE / "assets" / "mermaid.min.js").stat().st_size > 1_000_000

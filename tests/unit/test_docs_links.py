"""Links of README and docs: files and headings inside must be there, addresses outside are only looked at."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.docs_cases.blocks import ROOT, pages, read
from tests.docs_cases.headings import anchors

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"\[`(?P<name>test_\w+)`\]\((?P<file>[^)]+)\)")
EVERY = [*pages(), "SECURITY.md", "CHANGELOG.md"]
# Pages that other parts of the product bring; the link to each must be there, the page may be yet to come.
COMING: frozenset[str] = frozenset()


def _links(page: str) -> list[str]:
    return [found["target"] for found in _LINK.finditer(_FENCED.sub("", read(page)))]


@pytest.mark.parametrize("page", EVERY)
def test_what_a_page_links_to_is_there(page: str) -> None:
    for link in _links(page):
        target = urlsplit(link)
        if not target.scheme:
            _assert_is_there(page, target.path, target.fragment)


def _assert_is_there(page: str, path: str, fragment: str) -> None:
    file = (ROOT / page).parent / path if path else ROOT / page
    name = str(file.resolve().relative_to(ROOT))
    assert file.exists() or name in COMING, f"{page}: {path} is not there"
    if fragment and file.exists():
        assert fragment in anchors(file.read_text("utf-8")), f"{page}: {path} has no heading #{fragment}"


@pytest.mark.parametrize("page", EVERY)
def test_addresses_outside_are_well_formed_and_encrypted(page: str) -> None:
    for link in _links(page):
        target = urlsplit(link)
        if target.scheme:
            assert (target.scheme, bool(target.hostname)) == ("https", True), f"{page}: {link}"


@pytest.mark.parametrize("page", EVERY)
def test_a_test_that_a_page_names_exists(page: str) -> None:
    for found in _TEST.finditer(read(page)):
        file = Path(ROOT / page).parent / found["file"]
        assert f"def {found['name']}(" in file.read_text("utf-8"), f"{page}: {found['name']} is not in {found['file']}"


def test_each_answer_of_the_questions_names_a_test() -> None:
    answers = read("docs/faq.md").split("\n### ")[1:]
    assert len(answers) >= 27
    assert [answer.splitlines()[0] for answer in answers if not _TEST.search(answer)] == []


def test_the_first_campaign_uses_the_image_of_this_version() -> None:
    version = re.search(r'^version = "(.+)"$', read("pyproject.toml"), re.MULTILINE)
    assert version is not None
    assert f"image: sendonce-cli:{version[1]}\n" in read("examples/first/1-far-end.yaml")


def test_headings_become_anchors() -> None:
    text = "# A `b` c\n\n## What is left: no, yes?\n```sh\n# no heading\n```\n## Same\n## Same\n"
    assert anchors(text) == {"a-b-c", "what-is-left-no-yes", "same", "same_1"}

"""What is done to a page before the site is built of it; and that the site leads to every page."""

import re

import pytest
from tests.docs_cases.blocks import ROOT, pages, read
from tools.site.staging import staged


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[pace](pace.md#how)", "[pace](pace.md#how)"),
        ("[here](#how)", "[here](#how)"),
        ("[RFC](https://example.com/rfc)", "[RFC](https://example.com/rfc)"),
        ("[`test_x.py`](../tests/unit/test_x.py)", "`test_x.py`"),
        ("[SECURITY.md](../SECURITY.md)", "SECURITY.md"),
        ("[the files](../examples/first/2.yaml)", "the files (`examples/first/2.yaml`)"),
        ("[install](install.md)", "install"),
    ],
)
def test_links_out_of_the_docs_become_their_words(link: str, becomes: str) -> None:
    assert staged("faq.md", f"See {link}.", missing=frozenset({"docs/install.md"})) == f"See {becomes}."


def test_where_the_repository_is_known_they_lead_there() -> None:
    text = staged("adr/0001.md", "[x](../../tests/x.py)", "https://example.com/tree")
    assert text == "[x](https://example.com/tree/tests/x.py)"


def test_code_stays_as_it_is() -> None:
    text = "```sh\necho '[x](../y)'\n```\n"
    assert staged("faq.md", text) == text


def test_drawings_bring_their_script() -> None:
    assert staged("a/b.md", "```mermaid\nx\n```\n").endswith('<script src="../assets/mermaid.min.js"></script>\n')


def test_the_site_leads_to_every_page_and_to_no_other() -> None:
    listed = re.findall(r"^ *- (?:[^:#]+: )?(\S+\.md)$", read("mkdocs.yml"), re.MULTILINE)
    there = {page.removeprefix("docs/") for page in pages() if page.startswith("docs/")}
    there |= {str(file.relative_to(ROOT / "docs")) for file in (ROOT / "docs" / "runbooks").glob("*.md")}
    assert set(listed) == there, "mkdocs.yml, nav: add or take away"
    assert len(listed) == len(set(listed))

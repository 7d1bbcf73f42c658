"""docs/resources.md says what the models say."""

from __future__ import annotations

from pathlib import Path

from sendonce_store.spec.crd.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "resources.md"


def test_the_page_says_what_the_models_say() -> None:
    assert PAGE.read_text("utf-8") == reference(), "write it anew: make docs"


def test_the_page_has_every_kind_and_what_is_frozen() -> None:
    page = reference()
    assert page.count("\n## ") == 4
    assert "`spec.messages`: is frozen once the campaign has started" in page
    assert "| `spec.retry.factor` | 1 to 100 | `4` |" in page
    assert page.count("`spec.timeoutSeconds`") == 1, "a cluster provider refers to what it shares"

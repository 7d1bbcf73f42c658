"""MJML to HTML, and the rules of CSS into the elements: once for a campaign, on the template itself.

Flows in: the source of a body with its Jinja. Flows out: HTML with the same Jinja in it, for `part` to compile. Done
here rather than for each recipient, it costs nothing per message. The libraries that do the work are quick, but they
were not written for sources of strangers: they run in a process of their own with bounds on time and memory
(`shaper_process`), and whatever becomes of that process is an error of the template. Includes and style sheets from
elsewhere are refused or left alone: nothing is fetched.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from sendonce_rendering.errors import TemplateError
from sendonce_rendering.holes import Holed, holed

__all__ = ["html_of_mjml", "with_inline_css"]

_PROCESS = Path(__file__).with_name("shaper_process.py")
_WALL_SECONDS = 60.0
# by which rules choose their elements: what these say must be known when the rules are written into the elements
_SELECTORS = frozenset({"class", "id"})

_ELEMENT = re.compile(r"</?(mj-[\w-]*|mjml\w*)", re.IGNORECASE)
_ELEMENTS = frozenset({
    "mj-accordion", "mj-accordion-element", "mj-accordion-text", "mj-accordion-title", "mj-all", "mj-attributes",
    "mj-body", "mj-breakpoint", "mj-button", "mj-carousel", "mj-carousel-image", "mj-class", "mj-column", "mj-divider",
    "mj-font", "mj-group", "mj-head", "mj-hero", "mj-image", "mj-navbar", "mj-navbar-link", "mj-preview", "mj-raw",
    "mj-section", "mj-social", "mj-social-element", "mj-spacer", "mj-style", "mj-table", "mj-text", "mj-title",
    "mj-wrapper", "mjml",
})  # fmt: skip


def html_of_mjml(field: str, source: str) -> str:
    """Return the HTML of MJML, with its Jinja. TemplateError says what is wrong, with the line where it is known."""
    _require_known_elements(field, source)
    taken = holed(field, source, bare=True, strict=())
    return taken.filled(_shaped(taken, "mjml"), "MJML")


def with_inline_css(field: str, source: str) -> str:
    """Return HTML with the rules of its `<style>` written into the elements; media queries stay where they are.

    TemplateError says what is wrong.
    """
    taken = holed(field, source, strict=_SELECTORS)
    return taken.filled(_shaped(taken, "css"), "inlining CSS")


def _require_known_elements(field: str, source: str) -> None:
    """MJML carries unknown elements along, and mail programs drop them: a slip of the pen would send an empty mail."""
    for found in _ELEMENT.finditer(source):
        name, line = found[1].lower(), source.count("\n", 0, found.start()) + 1
        if name == "mj-include":
            raise TemplateError(field, "mj-include is not available: put all of the template here", line)
        if name not in _ELEMENTS:
            raise TemplateError(field, f"there is no <{name}> in MJML{_near(name)}", line)


def _near(name: str) -> str:
    import difflib  # noqa: PLC0415  # for an error alone

    near = difflib.get_close_matches(name, sorted(_ELEMENTS), n=1)
    return f"; did you mean <{near[0]}>?" if near else ""


def _shaped(taken: Holed, work: str) -> str:
    answer = _answer(work, taken.markup)
    if answer is None:
        message = "takes too much time or memory, or is nested too deeply; make it smaller"
        raise TemplateError(taken.field, message)
    if "error" in answer:
        raise TemplateError(taken.field, _explained(work, answer["error"]))
    return answer["html"]


def _explained(work: str, error: str) -> str:
    if work == "mjml":
        return f"this is not sound MJML: {error}; close what is opened, and let no variable stand for a width"
    return f"the CSS of <style> or of a style with variables in it cannot be read: {error}; close what is opened"


@lru_cache(maxsize=64)
def _answer(work: str, markup: str) -> dict[str, str] | None:
    """Ask a process; None: it was stopped. The same source is asked for once."""
    request = json.dumps({"work": work, "markup": markup})
    command = [sys.executable, "-I", str(_PROCESS)]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, text=True, encoding="utf-8", timeout=_WALL_SECONDS, check=False
        )
        answer: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return answer or None

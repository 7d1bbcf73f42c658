"""What axe is asked, and how a page answers: a page of Chromium in, one line per violation out.

`script` is axe-core itself; `JUDGE`, evaluated with one of the two wishes, gives the lines. Frames are left out: what
is in them is the sender's own document.
"""

from __future__ import annotations

from tools.browser import AXE

EVERYTHING = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
JUDGE = """async (only) => {
  // of WCAG 2.2, and off unless asked for
  const rules = only.type === 'tag' ? { 'target-size': { enabled: true } } : {};
  const found = await axe.run(document, { runOnly: only, rules, iframes: false, resultTypes: ['violations'] });
  return found.violations.flatMap((one) => one.nodes.map((node) =>
    `${one.id}: ${one.help}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""
# A template's own script that does not run: the browser says so, and that is the point.
HARMLESS = "Blocked script execution in"


def script() -> str:
    """Return axe. Raises NotFetchedError."""
    return AXE.path().read_text("utf-8")

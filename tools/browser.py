"""Chromium for tests and pictures of the console, and axe, which judges whether everybody can use a page.

In: the machine. Out: the browser's path and its options, axe's script (axe-core of the npm registry, pinned), or why
there is none. Chromium is Debian's, or whatever SENDONCE_CHROMIUM names; the browser talks to this machine alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tools.cluster.needs import find
from tools.npm import NotFetchedError, Pinned

VARIABLE = "SENDONCE_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
OPTIONS: Sequence[str] = (
    "--no-sandbox",  # root has no user namespace to put it in
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--font-render-hinting=none",
)
AXE = Pinned(
    package="axe-core",
    version="4.14.1",
    digest="FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    inside="package/axe.min.js",
    kept_as="axe-4.14.1.min.js",
)


def chromium() -> str:
    """Return the path of the browser. Raises NotFetchedError with the cure."""
    given = os.environ.get(VARIABLE)
    found = given if given and Path(given).exists() else next(filter(None, map(find, _NAMES)), None)
    if found is None:
        raise NotFetchedError("Chromium is not installed: on Debian: apt-get install --no-install-recommends chromium")
    return found


def complaint() -> str:
    """Return why pages can't be tried in a browser here; empty when they can."""
    try:
        chromium()
        AXE.path()
    except NotFetchedError as error:
        return str(error)
    return ""

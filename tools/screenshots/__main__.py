"""`python -m tools.screenshots [FOLDER]`: take the pictures of docs/console.md anew, by default into docs/screenshots.

Takes about two minutes. Chromium must be there; with Debian's packages `fonts-inter` and `pngquant` the pictures have
the letters and the size of those in the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from playwright.sync_api import Page, sync_playwright
from tools.browser import OPTIONS, chromium
from tools.cluster.needs import find
from tools.npm import NotFetchedError
from tools.screenshots import campaigns
from tools.screenshots.campaigns import GONE, PATIENT
from tools.screenshots.scene import FEW, READERS, scene

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1280, 860
SHARE = 0.6
_NEWSLETTER = "/ns/shop/campaigns/spring-newsletter"


@dataclass(frozen=True)
class Picture:
    """One picture: what it is called, where it is taken, and what is done first."""

    name: str
    path: str
    scheme: str = "light"
    width: int = WIDTH
    height: int = HEIGHT
    first: Callable[[Page], None] = lambda _page: None


def find_person(address: str) -> Callable[[Page], None]:
    """Search for somebody who is in one campaign, which leads straight to them."""

    def find_them(page: Page) -> None:
        page.locator("#find").fill(address)
        page.locator("#find").press("Enter")
        page.locator(".answer").wait_for()
        # what is further down is shown once somebody comes near
        page.mouse.wheel(0, 400)
        page.mouse.wheel(0, -400)

    return find_them


def preview(page: Page) -> None:
    """Look at the newsletter before it is applied."""
    page.get_by_label("Campaign, as YAML").fill(yaml.safe_dump_all(campaigns.before_applied(), sort_keys=False))
    page.get_by_role("button", name="Show").click()
    page.frame_locator("iframe >> nth=2").get_by_text("See the programme").wait_for()
    page.locator(".frames").scroll_into_view_if_needed()


PICTURES: Sequence[Picture] = (
    Picture("campaigns", "/", height=520),
    Picture("campaign", _NEWSLETTER, height=1180),
    Picture("campaign-dark", _NEWSLETTER, "dark", height=1180),
    Picture("person", "/", height=1000, first=find_person(PATIENT)),
    Picture("person-narrow", "/", width=360, height=800, first=find_person(GONE)),
    Picture("deadletters", f"{_NEWSLETTER}/deadletters", height=760),
    Picture("preview", "/preview", height=760, first=preview),
)


def shrink(file: Path) -> None:
    """Make the file small, where the program for it is there."""
    program = find("pngquant")
    if program:
        command = [program, "--force", "--skip-if-larger", "--speed", "1", "--output", str(file), "96", str(file)]
        subprocess.run(command, check=False)


def take(address: str, folder: Path) -> None:
    """Take all pictures of a running console."""
    parts = urlsplit(address)
    base = f"{parts.scheme}://{parts.netloc}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        for one in PICTURES:
            context = browser.new_context(
                color_scheme="dark" if one.scheme == "dark" else "light",
                viewport={"width": one.width, "height": one.height},
                locale="en-GB",
                timezone_id="UTC",
            )
            page = context.new_page()
            page.goto(address)
            page.goto(base + one.path)
            one.first(page)
            page.wait_for_load_state("networkidle")
            file = folder / f"{one.name}.png"
            page.screenshot(path=file)
            shrink(file)
            print(f"{file}  {file.stat().st_size / 1024:.0f} KiB")
            context.close()
        browser.close()


def main(arguments: Sequence[str]) -> int:
    """Take them, and return the exit code."""
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "screenshots"
    try:
        chromium()
    except NotFetchedError as error:
        print(error, file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="sendonce-screenshots-"))
    # PostgreSQL may be another user, who must get in
    scratch.chmod(0o711)
    try:
        with scene(scratch) as running:
            running.until_sent(PATIENT)
            running.until_ended(int(READERS * SHARE) + FEW)
            take(running.address, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

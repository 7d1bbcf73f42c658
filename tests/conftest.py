"""What all tests share: how property tests run, a network that ends at this machine, and whose turn it is when.

In: nothing. Out: settings that hold for every test module.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is not a failure, and a run is repeatable: the same examples every time unless asked otherwise
# (`pytest --hypothesis-profile=explore`).
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")

_HERE = Path(__file__).parent
# Several processes share the modules. Those of real Pods take minutes each, the longest of them first; quick ones are
# kept for the end, so that no process waits there for another. A node that is up costs something, too: not at once.
_LONGEST = ("test_e2e_chart", "test_e2e_disturbed", "test_e2e_jobs", "test_e2e_lost")
_QUICK = {"chart", "unit"}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def pytest_configure(config: pytest.Config) -> None:
    """Forget the proxies of this machine: every far end in a test is on the loopback interface."""
    del config
    for name in _PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules in order. The tests of each stay as they are."""
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> tuple[int, int]:
    parts = path.relative_to(_HERE).parts
    if parts[0] in _QUICK:
        return 2, 0
    if parts[:2] != ("cluster", "e2e"):
        return 0, 0
    return 1, _LONGEST.index(path.stem) if path.stem in _LONGEST else len(_LONGEST)

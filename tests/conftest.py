"""What all tests share: how property tests run, a network that ends at this machine, and whose turn it is when.

In: nothing. Out: settings that hold for every test module.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.turns import Clusters, Scopes, turn_of_item

if TYPE_CHECKING:
    from xdist.remote import Producer  # type: ignore[import-untyped]

# A slow machine is not a failure, and a run is repeatable: the same examples every time unless asked otherwise
# (`pytest --hypothesis-profile=explore`).
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def pytest_configure(config: pytest.Config) -> None:
    """Forget the proxies of this machine: every far end in a test is on the loopback interface. See to clusters."""
    config.pluginmanager.register(Clusters())
    for name in _PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules in order. The tests of each stay as they are."""
    items.sort(key=turn_of_item)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scopes | None:
    """Share the tests out as `turns` says, unless another way was asked for."""
    return Scopes(config, log) if config.getoption("dist") == "loadscope" else None

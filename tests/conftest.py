"""What all tests share: how property tests run, and a network that ends at this machine.

In: nothing. Out: settings that hold for every test module.
"""

import os

import pytest
from hypothesis import settings

# A slow machine is not a failure, and a run is repeatable: the same examples every time unless asked otherwise
# (`pytest --hypothesis-profile=explore`).
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def pytest_configure(config: pytest.Config) -> None:
    """Forget the proxies of this machine: every far end in a test is on the loopback interface."""
    del config
    for name in _PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)

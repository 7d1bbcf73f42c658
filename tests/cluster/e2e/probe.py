"""Run inside of an image by its own Python: what is in there, as one line of JSON."""

import errno
import importlib.util
import json
import os
import pkgutil
import shutil
import sys
from importlib import import_module
from importlib.metadata import distributions

OURS = (
    "sendonce_cli",
    "sendonce_console",
    "sendonce_gateway",
    "sendonce_operator",
    "sendonce_rendering",
    "sendonce_store",
    "sendonce_worker",
)
# of what all programs have, the modules that only some of them use, and what those need beside
USED_BY_SOME = {
    "sendonce_store.addresses": "phonenumbers",
    "sendonce_store.gateway": "cryptography",
    "sendonce_store.link_tokens": "cryptography",
    "sendonce_store.serving": "aiohttp",
    "sendonce_store.tracing": "phonenumbers",
}
TOOLS = ("cc", "gcc", "g++", "clang", "ld", "make", "pip", "pip3", "git", "curl", "wget")
INSTALLERS = ("pip", "ensurepip", "setuptools", "wheel")
READ_ONLY = ("", "/tmp", "/opt/sendonce/app", ".")  # noqa: S108 - nothing is written there


def refused(path: str) -> str:
    """Why a file can't be written there."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def imported(package: str) -> list[str]:
    """Import all modules of a package, and name them."""
    found = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    names = [module.name for module in found if not module.name.endswith("__main__")]
    return [import_module(name).__name__ for name in names if is_used(name)]


def is_used(module: str) -> bool:
    """Whether it is for a program that has what it needs."""
    needed = [need for part, need in USED_BY_SOME.items() if f"{module}.".startswith(f"{part}.")]
    return all(has(need) for need in needed)


def found_program(name: str) -> bool:
    """Whether it lies where programs do."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/opt/sendonce/bin") is not None


def has(module: str) -> bool:
    """Whether it could be imported."""
    return importlib.util.find_spec(module) is not None


ours = [package for package in OURS if has(package)]
sys.stdout.write(
    json.dumps(
        {
            "user": os.getuid(),
            "programs": [name for name in TOOLS if found_program(name)],
            "installers": [name for name in INSTALLERS if has(name)],
            "distributions": sorted({found.name.lower().replace("_", "-") for found in distributions()}),
            "ours": ours,
            "modules": sum(len(imported(package)) for package in ours),
            "refused": [refused(f"{folder}/new") for folder in READ_ONLY],
        }
    )
)

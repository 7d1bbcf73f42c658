"""The store as the login of a program that is for no namespace, console or gateway: the environment in, a DSN out.

Somebody made the login and gave the program its connection string (`SENDONCE_DSN_FILE`, `SENDONCE_DSN`). Or the chart
made a password, of which a Job made the login: then the program has the password and the database's address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sendonce_store.environment import SettingsError, dsn, required
from sendonce_store.tenancy import Login, TenancyError, check_address

Program = Literal["console", "gateway"]


def program_dsn(env: Mapping[str, str], program: Program) -> str:
    """The connection string of the program's login. Raises SettingsError."""
    variable = f"SENDONCE_{program.upper()}_PASSWORD_FILE"
    path = env.get(variable)
    if not path:
        return dsn(env)
    try:
        password = Path(path).read_text("utf-8").strip()
        return address_with_login(program, required(env, "SENDONCE_STORE_ADDRESS"), password)
    except OSError as error:
        message = f"{variable}: {path} can't be read: {error.strerror}"
        raise SettingsError(message) from error
    except TenancyError as error:
        message = f"SENDONCE_STORE_ADDRESS: {error}"
        raise SettingsError(message) from None


def address_with_login(program: Program, address: str, password: str) -> str:
    """The connection string of the program's login, for the database of `address`. Raises TenancyError."""
    given = check_address(address)
    # as the schema's functions name it (migrations 0008 and 0009)
    digest = hashlib.sha256(str(given["dbname"]).encode()).hexdigest()[:8]
    return Login("", f"sendonce_{program}_{digest}", password).dsn(address)

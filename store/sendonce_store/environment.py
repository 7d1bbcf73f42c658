"""What the programs' settings have in common: variables of the environment in, checked values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from sendonce_store.links import LinkError, check_url

N = TypeVar("N", int, float)
LogStyle = Literal["json", "console"]
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_STYLES: Mapping[str, LogStyle] = {"json": "json", "plain": "console", "console": "console"}


class SettingsError(Exception):
    """A variable of the environment is missing or wrong; the message names it and what would be right."""


def required(env: Mapping[str, str], name: str) -> str:
    """A variable that must be there. Raises SettingsError."""
    value = env.get(name, "")
    if not value:
        message = f"{name} is not set"
        raise SettingsError(message)
    return value


def dsn(env: Mapping[str, str]) -> str:
    """The store: what SENDONCE_DSN_FILE holds, else SENDONCE_DSN. Raises SettingsError."""
    if path := env.get("SENDONCE_DSN_FILE"):
        try:
            return Path(path).read_text("utf-8").strip()
        except OSError as error:
            message = f"SENDONCE_DSN_FILE: {path} can't be read: {error.strerror}"
            raise SettingsError(message) from error
    return required(env, "SENDONCE_DSN")


def gateway_url(env: Mapping[str, str]) -> str | None:
    """Where people reach the public gateway: SENDONCE_GATEWAY_URL; None where there is none. Raises SettingsError."""
    url = env.get("SENDONCE_GATEWAY_URL")
    try:
        return check_url(url) if url else None
    except LinkError as error:
        message = f"SENDONCE_GATEWAY_URL: {error}"
        raise SettingsError(message) from None


def number(  # noqa: PLR0913 - one variable with its kind and bounds
    env: Mapping[str, str], name: str, default: N, kind: Callable[[str], N], low: float, high: float
) -> N:
    """A number within its bounds; the default where it is not set. Raises SettingsError."""
    text = env.get(name, "")
    if not text:
        return default
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        message = f"{name}: {text!r} is not a number from {low:g} to {high:g}"
        raise SettingsError(message)
    return value


def log_level(env: Mapping[str, str], name: str = "SENDONCE_LOG_LEVEL") -> str:
    """From which level on is logged, in large letters; INFO where it is not set. Raises SettingsError."""
    level = (env.get(name) or "INFO").upper()
    if level not in _LEVELS:
        message = f"{name}: {level!r} is unknown: use {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}"
        raise SettingsError(message)
    return level


def log_style(env: Mapping[str, str]) -> LogStyle:
    """How is logged: SENDONCE_LOG_FORMAT, `json` (also where it is not set) or `plain`. Raises SettingsError."""
    given = env.get("SENDONCE_LOG_FORMAT") or "json"
    if given not in _STYLES:
        message = f"SENDONCE_LOG_FORMAT: {given!r} is unknown: use json or plain"
        raise SettingsError(message)
    return _STYLES[given]


def port_or_off(env: Mapping[str, str], name: str, default: int) -> int | None:
    """A port; None where the variable is set to nothing: the server is off. Raises SettingsError."""
    return None if env.get(name) == "" else number(env, name, default, int, 0, 65_535)

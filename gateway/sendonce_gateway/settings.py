"""The gateway's settings: environment in, one frozen object out, read once at the entry point and passed down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sendonce_gateway.languages import Languages
from sendonce_gateway.texts import read_texts
from sendonce_store.environment import (
    LogStyle,
    gateway_url,
    log_level,
    log_style,
    number,
    port_or_off,
    required,
)
from sendonce_store.program_dsn import program_dsn


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """How one gateway runs. Times in seconds."""

    dsn: str = field(repr=False)
    public_url: str  # where people and providers reach it, without a slash at the end
    port: int = 8080
    ops_port: int | None = 9090  # /healthz, /readyz and /metrics; None: off
    proxies: int = 0  # how many proxies in front add to X-Forwarded-For
    store_connections: int = 8
    store_wait: float = 5.0  # for a connection; then 503
    body_wait: float = 10.0  # for the whole body of a request; then 408
    grace: float = 20.0  # for what is under way when it is told to stop
    enqueue_per_second: float = 500.0  # requests with one token
    receipts_dir: Path | None = None  # secrets of providers: see docs/receipts.md
    receipts_per_second: float = 500.0  # requests at one provider's address
    languages: Languages = field(default_factory=Languages)  # of the pages for people
    log_style: LogStyle = "json"
    log_level: str = "INFO"


def read_settings(env: Mapping[str, str] = os.environ) -> GatewaySettings:
    """Read `SENDONCE_…` variables. Raises SettingsError."""
    receipts, texts = env.get("SENDONCE_RECEIPTS_DIR"), env.get("SENDONCE_GATEWAY_TEXTS")
    return GatewaySettings(
        dsn=program_dsn(env, "gateway"),
        public_url=_public_url(env),
        port=number(env, "SENDONCE_GATEWAY_PORT", 8080, int, 0, 65_535),
        ops_port=port_or_off(env, "SENDONCE_OPS_PORT", 9090),
        proxies=number(env, "SENDONCE_GATEWAY_PROXIES", 0, int, 0, 10),
        store_connections=number(env, "SENDONCE_GATEWAY_CONNECTIONS", 8, int, 1, 200),
        store_wait=number(env, "SENDONCE_GATEWAY_STORE_SECONDS", 5.0, float, 0.05, 60),
        body_wait=number(env, "SENDONCE_GATEWAY_BODY_SECONDS", 10.0, float, 0.05, 120),
        grace=number(env, "SENDONCE_GRACE_SECONDS", 20.0, float, 0, 600),
        enqueue_per_second=number(env, "SENDONCE_ENQUEUE_PER_SECOND", 500.0, float, 1, 100_000),
        receipts_dir=Path(receipts) if receipts else None,
        receipts_per_second=number(env, "SENDONCE_RECEIPTS_PER_SECOND", 500.0, float, 1, 100_000),
        languages=read_texts(texts) if texts else Languages(),
        log_style=log_style(env),
        log_level=log_level(env),
    )


def _public_url(env: Mapping[str, str]) -> str:
    required(env, "SENDONCE_GATEWAY_URL")
    return gateway_url(env) or ""

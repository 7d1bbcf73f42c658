"""The public application: connections and settings in, an aiohttp application out; its table of contents is its routes.

A request comes through `answering.answer`, which turns whatever goes wrong into an answer that says so and no more.
"""

from __future__ import annotations

from aiohttp import web

from sendonce_gateway.answering import answer
from sendonce_gateway.enqueue import enqueue_routes
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.preferences import preference_routes
from sendonce_gateway.receipts import receipt_routes
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_gateway.unsubscribe import unsubscribe_routes
from sendonce_store.serving import counted

__all__ = ["build_app"]


def build_app(pool: Pool, settings: GatewaySettings, metrics: GatewayMetrics) -> web.Application:
    """Put the application together. It opens nothing: that is `main`'s."""
    middlewares = [counted(metrics.requests), answer(settings.languages)]
    app = web.Application(middlewares=middlewares, client_max_size=1024 * 1024)
    app.add_routes(unsubscribe_routes(pool, settings, metrics))
    app.add_routes(preference_routes(pool, settings, metrics))
    app.add_routes(enqueue_routes(pool, settings, metrics))
    app.add_routes(receipt_routes(pool, settings, metrics))
    return app

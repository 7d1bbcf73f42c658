"""How a person is told what messages are meant."""

from __future__ import annotations

from sendonce_store.link_tokens import Wish

__all__ = ["about"]

_CATEGORIES = {"Marketing": "news and offers", "Transactional": "your orders and your account"}


def about(wish: Wish) -> str:
    """What the messages are about, to stand behind "messages about"."""
    return f"“{wish.topic}”" if wish.topic else _CATEGORIES.get(wish.category, wish.category)

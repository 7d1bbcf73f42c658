"""All that people are told, in one language: what to say in, plain text out. It comes in English.

The words of an installation have the same fields (`texts.py` reads them). `{…}` in a text is filled in here; escaping
is `pages.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sendonce_store.link_tokens import Wish

__all__ = ["ENGLISH", "Words", "fill"]


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language. `language`: its BCP 47 tag; `topics`: what topics are called by their names."""

    language: str = "en"
    topics: Mapping[str, str] = field(default_factory=dict)
    # what messages are about, to stand for {about}
    topic: str = "“{topic}”"
    marketing: str = "news and offers"
    transactional: str = "your orders and your account"
    # the pages of a link
    unsubscribe_title: str = "Unsubscribe?"
    unsubscribe_text: str = "You will get no more messages about {about} here."
    unsubscribe_button: str = "Unsubscribe"
    unsubscribed_title: str = "You are unsubscribed"
    unsubscribed_text: str = "You will get no more messages about {about} here."
    preferences_link: str = "Choose what you get"
    preferences_title: str = "What you get"
    preferences_saved: str = "Your choice is saved."
    preferences_none: str = "You get no messages about {about} here."
    preferences_all: str = "Messages about {about}"
    save_button: str = "Save"
    stop_button: str = "Stop all of them"
    # what goes wrong
    refused_title: str = "This can't be done"
    refused_text: str = "Nothing was changed: this request can't be answered."
    not_found_title: str = "Nothing here"
    not_found_text: str = "There is nothing at this address."
    incomplete_text: str = "This link is not complete: copy all of it from the message."
    revoked_title: str = "This link is no longer good"
    revoked_text: str = "This link is no longer good: use one from a newer message."
    too_many_title: str = "Too many requests"
    too_many_text: str = "This was asked for too often: wait a moment, then try again."
    too_slow_title: str = "Too slow"
    too_slow_text: str = "The request did not arrive in time: try again."
    too_large_title: str = "Too large"
    too_large_text: str = "This is more than can be taken here."
    failed_title: str = "Something went wrong"
    failed_text: str = "Something went wrong here: try again later."
    away_title: str = "Not at the moment"
    away_text: str = "This can't be recorded at the moment: try again."

    def about(self, wish: Wish) -> str:
        """What the messages are about."""
        if wish.topic:
            return fill(self.topic, topic=self.called(wish.topic))
        categories = {"Marketing": self.marketing, "Transactional": self.transactional}
        return categories.get(wish.category, wish.category)

    def called(self, topic: str) -> str:
        """What people call a topic."""
        return self.topics.get(topic, topic)

    def problem(self, code: str) -> tuple[str, str]:
        """Title and text of a page that says what is wrong, by the code of a `Problem`."""
        pages = {
            "not_found": (self.not_found_title, self.not_found_text),
            "unknown_link": (self.not_found_title, self.incomplete_text),
            "link_revoked": (self.revoked_title, self.revoked_text),
            "too_many_requests": (self.too_many_title, self.too_many_text),
            "too_slow": (self.too_slow_title, self.too_slow_text),
            "too_large": (self.too_large_title, self.too_large_text),
            "internal": (self.failed_title, self.failed_text),
            "store_unavailable": (self.away_title, self.away_text),
        }
        return pages.get(code, (self.refused_title, self.refused_text))


ENGLISH = Words()


def fill(text: str, **values: str) -> str:
    """Put a value in the place of `{its name}`; nothing else in the text has a meaning."""
    ((name, value),) = values.items()
    return text.replace(f"{{{name}}}", value)

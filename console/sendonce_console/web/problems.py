"""What is answered when a request can't be served: one error that becomes a page for people or RFC 9457 for programs.

The title says what is wrong, the detail names the field and the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus


class ProblemError(Exception):
    """A request is answered with this status, title and detail."""

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        """`detail`: a sentence for the person who asked; nothing of the inside of the program."""
        super().__init__(f"{status} {title}: {detail}")
        self.status, self.title, self.detail = status, title, detail
        self.headers = dict(headers or {})


def not_found(title: str, detail: str) -> ProblemError:
    """There is no such thing, or it is not for this viewer: the answer is the same."""
    return ProblemError(HTTPStatus.NOT_FOUND, title, detail)


def foreign_namespace(namespace: str) -> ProblemError:
    """A namespace that is not there and one that is not theirs are answered alike."""
    return not_found(
        f"There is nothing to see in namespace {namespace}",
        "Either it has no campaigns, or you may not see them: that takes the right to get notificationcampaigns there.",
    )


def forbidden(detail: str) -> ProblemError:
    """Signed in, and without the right."""
    return ProblemError(HTTPStatus.FORBIDDEN, "You may not do this", detail)


def bad_request(field: str, problem: str, fix: str) -> ProblemError:
    """A value that can't be used: names the field, what is wrong with it and what would be right."""
    return ProblemError(HTTPStatus.BAD_REQUEST, f"{field}: {problem}", fix)


def unavailable(what: str, detail: str) -> ProblemError:
    """Something that the console stands on is away; it is worth trying again."""
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE, f"{what} can't be reached at present", detail, {"Retry-After": "5"}
    )

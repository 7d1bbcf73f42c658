"""One GET: follows redirects with care and says no to answers that are no list.

A presigned URL is a credential, and so is a header: neither stands in an error, and headers go only to the origin they
were meant for.
"""

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from .errors import SourceUnreadableError

# httpx logs each URL with its query, where a presigned one carries its signature, and httpcore the Location headers
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_MAX_REDIRECTS = 5
_BAD_HEADER = "a header from the Secret has a name or a value that HTTP does not allow, such as one with a line feed"
# RFC 9110 §15: the server may answer otherwise later
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `field` names the place in the spec, `shown` the URL as people may see it."""

    url: str
    headers: Mapping[str, str]
    field: str
    shown: str

    def parsed_url(self) -> httpx.URL:
        """The URL. Raises `SourceUnreadableError`."""
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in {"http", "https"} or not url.host:
            raise SourceUnreadableError(self.field, "is not a URL such as https://files.example.com/readers.csv")
        return url


async def send(client: httpx.AsyncClient, request: Request, extra: Mapping[str, str]) -> httpx.Response:
    """The open response behind all redirects; the caller closes it.

    `extra`: headers of ours. Raises `SourceUnreadableError` for a bad redirect, `httpx.TransportError`.
    """
    url = origin = request.parsed_url()
    for _ in range(_MAX_REDIRECTS + 1):
        secret = request.headers if _origin(url) == _origin(origin) else {}
        try:
            built = client.build_request("GET", url, headers={**secret, **extra})
        except (ValueError, TypeError):
            raise SourceUnreadableError(request.field, _BAD_HEADER) from None
        response = await client.send(built, stream=True)
        if not response.has_redirect_location:
            return response
        await response.aclose()
        url = _redirected(url, response.headers["location"], request)
    raise SourceUnreadableError(request.field, f"{request.shown} redirects more than {_MAX_REDIRECTS} times")


def check_status(response: httpx.Response, request: Request) -> None:
    """Take 200 and 206 with a body that may be a list. Raises `SourceUnreadableError`."""
    status = response.status_code
    if status not in {200, 206}:
        problem = f"{request.shown} answers {status} {response.reason_phrase}{_advice(status)}"
        raise SourceUnreadableError(request.field, problem, temporary=status in _TEMPORARY)
    if response.headers.get("content-type", "").lower().startswith(("text/html", "application/xhtml")):
        problem = (
            f"{request.shown} answers an HTML page with status {status}, perhaps of a login, where a list was "
            "expected; check the URL and its credentials"
        )
        raise SourceUnreadableError(request.field, problem)
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding not in {"identity", "gzip", "x-gzip", ""}:
        problem = f"{request.shown} answers with content-encoding {encoding[:20]}, though none was asked for"
        raise SourceUnreadableError(request.field, problem)


def unreachable(error: httpx.TransportError, request: Request) -> SourceUnreadableError:
    """The error of a connection as one of ours."""
    if _is_certificate_error(error):
        problem = f"{request.shown} shows a certificate that is not trusted"
        return SourceUnreadableError(request.field, problem)
    if isinstance(error, httpx.TimeoutException):
        return SourceUnreadableError(request.field, f"{request.shown} does not answer in time", temporary=True)
    if isinstance(error, httpx.ConnectError):
        problem = f"cannot connect to {request.shown}: {error}"
        return SourceUnreadableError(request.field, problem, temporary=True)
    if isinstance(error, httpx.LocalProtocolError):
        # its text repeats the header
        return SourceUnreadableError(request.field, _BAD_HEADER)
    words = str(error) or type(error).__name__
    return SourceUnreadableError(request.field, f"{request.shown} breaks off: {words}", temporary=True)


def shown_url(url: str) -> str:
    """The URL without what may be a credential in it: user, password, query."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the URL"
    return str(parsed.copy_with(username=None, password=None, query=None, fragment=None))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return (url.scheme, url.host, url.port)


def _redirected(url: httpx.URL, location: str, request: Request) -> httpx.URL:
    try:
        target = url.join(location)
    except httpx.InvalidURL:
        target = httpx.URL("")
    if target.scheme not in {"http", "https"} or not target.host:
        raise SourceUnreadableError(request.field, f"{request.shown} redirects to something that is no http(s) URL")
    if url.scheme == "https" and target.scheme == "http":
        problem = f"{request.shown} redirects from https to http, which would show the list to the network"
        raise SourceUnreadableError(request.field, problem)
    return target


def _advice(status: int) -> str:
    if status in {401, 403}:
        return "; check the credentials, and whether a presigned URL has expired"
    if status == httpx.codes.NOT_FOUND:
        return "; check the URL"
    return ""


def _is_certificate_error(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False

"""The provider of every named far end: one request over the HTTP hot path, judged by the far end's own table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sendonce_worker.providers.api.base import Api, Call
from sendonce_worker.providers.api.lines import Line, Lines, Wire
from sendonce_worker.providers.api.table import classify
from sendonce_worker.providers.api.tokens import Tokens
from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.dial import DialError
from sendonce_worker.providers.errors import Kind, ProviderConfigError, SendError, TemporarySendError
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.trying import try_once
from sendonce_worker.providers.secrets_text import Blotter

_UNAUTHORISED = 401


class ApiProvider:
    """One named far end; see ``Provider``."""

    def __init__(self, api: Api, secrets: Mapping[str, str], wire: Wire) -> None:
        """Raises ``ProviderConfigError``."""
        self._api = api
        self._blotter = Blotter(secrets)
        self._lines = Lines(api.origin, api.headers, wire)
        self._token_line, self._tokens = _tokens(api, wire)

    @property
    def key_window(self) -> float | None:
        """Seconds for which the far end remembers keys; None if it has none."""
        return self._api.key_window

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        """Try once; see ``Provider.send``."""

        async def attempt(departure: Clearance) -> Accepted | SendError:
            call = self._api.call(message, datetime.now(UTC))
            if self._tokens is not None:
                return await self._with_token(self._tokens, call, departure)
            return self._judged(await self._exchange(call, departure))

        return await try_once(attempt, clearance, self._blotter.blot)

    async def aclose(self) -> None:
        """Close idle connections."""
        await self._lines.aclose()
        if self._token_line is not None:
            await self._token_line.client.aclose()

    async def _exchange(self, call: Call, departure: Clearance) -> Answer:
        client, request = self._lines.of(call)
        await self._lines.tidy()
        try:
            return await client.exchange(request, departure)
        except DialError as error:
            if self._api.origin is not None:
                raise
            # one recipient's host is away: that is no outage of the provider, which would pause it for everybody
            words = self._blotter.blot(error.message)
            raise TemporarySendError(f"endpoint_{error.code}", words) from error

    async def _with_token(self, tokens: Tokens, call: Call, departure: Clearance) -> Accepted | SendError:
        token = await tokens.get()
        call.headers = (*call.headers, ("Authorization", f"Bearer {token}"))
        answer = await self._exchange(call, departure)
        verdict = self._judged(answer)
        refused = answer.status == _UNAUTHORISED and isinstance(verdict, SendError) and verdict.kind is Kind.ACCOUNT
        if refused and tokens.drop(token):
            return TemporarySendError("token_ended", "401: the access token is good no more; a new one is asked for")
        return verdict

    def _judged(self, answer: Answer) -> Accepted | SendError:
        return classify(self._api.table, answer, self._api.read(answer, datetime.now(UTC)))


def _tokens(api: Api, wire: Wire) -> tuple[Line | None, Tokens | None]:
    """Return where tokens come from; a connection of its own, since it is another host."""
    if api.grant is None:
        return None, None
    try:
        line = Line(api.grant.url, {"Content-Type": "application/x-www-form-urlencoded"}, wire)
    except ValueError as error:
        raise ProviderConfigError("credentialsSecretRef", f"the address for access tokens: {error}") from error

    async def post(body: bytes) -> Answer:
        return await line.client.exchange(line.post(body), lambda: None)

    return line, Tokens(api.grant, post)

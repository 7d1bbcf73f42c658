"""For every alert one case in which it fires and one in which it does not, as promtool reads them.

`series`: what is scraped each minute, in promtool's notation. `at`: when it is looked at. `labels`: those of the alert
beside its severity; `summary`: what the person reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SPRING = {"namespace": "shop", "campaign": "spring"}
_SPRING = 'namespace="shop",campaign="spring"'
_SMTP = 'namespace="shop",provider="smtp"'


@dataclass(frozen=True)
class Case:
    """An alert with what lets it fire, and what is close to it and does not."""

    alert: str
    firing: dict[str, str]
    quiet: dict[str, str]
    summary: str
    at: str = "30m"
    labels: dict[str, str] = field(default_factory=lambda: dict(SPRING))


def state(ready: str, reason: str) -> str:
    return f'sendonce_campaign_state{{{_SPRING},ready="{ready}",reason="{reason}"}}'


def counts(state: str) -> str:
    return f'sendonce_campaign_deliveries{{{_SPRING},state="{state}"}}'


def of(metric: str) -> str:
    return f"sendonce_{metric}{{{_SPRING}}}"


def provider(metric: str, labels: str = _SMTP) -> str:
    return f"sendonce_provider_{metric}{{{labels}}}"


RECIPIENTS = "/v1/namespaces/{namespace}/campaigns/{campaign}/recipients"


def requests(route: str, status: int) -> str:
    return f'sendonce_gateway_requests_total{{route="{route}",status="{status}"}}'


def refused(provider: str, why: str) -> str:
    return f'sendonce_gateway_receipts_refused_total{{provider="{provider}",why="{why}"}}'


CASES = (
    Case(
        "SendonceCampaignStalled",
        firing={state("False", "NoProgress"): "1x40"},
        quiet={state("True", "ProviderPaused"): "1x40", state("False", "CredentialsRejected"): "1x40"},
        labels={**SPRING, "reason": "NoProgress"},
        summary="Campaign shop/spring waits for a person (NoProgress).",
    ),
    Case(
        "SendonceCredentialsRefused",
        firing={state("False", "CredentialsRejected"): "1x40"},
        quiet={state("False", "FailureThreshold"): "1x40"},
        labels={**SPRING, "reason": "CredentialsRejected"},
        summary="Campaign shop/spring can't log in (CredentialsRejected).",
    ),
    Case(
        "SendonceQueueNotDraining",
        firing={of("campaign_standstill_seconds"): "0+60x40"},
        quiet={of("campaign_standstill_seconds"): "0 60 120 180 240 300 0 60 120 180 240 300 0 60 120x30"},
        at="15m",
        summary="Campaign shop/spring has had deliveries to send for 15m 0s, and none has ended.",
    ),
    Case(
        "SendonceBatchHeartbeatOld",
        firing={of("batch_heartbeat_age_seconds"): "0+60x40"},
        quiet={of("batch_heartbeat_age_seconds"): "4 110 3 5 119 2 4x30"},
        at="5m",
        summary="A worker of campaign shop/spring has been silent for 5m 0s.",
    ),
    Case(
        "SendonceBatchStuck",
        firing={of("batches_stuck"): "0 2x40"},
        quiet={of("batches_stuck"): "0 1 0 1 0 1 0 1x1 0x30"},
        summary="2 batches of campaign shop/spring are held past their lease, and nobody takes them over.",
    ),
    Case(
        "SendonceDeadLetters",
        firing={counts("sent"): "900x9", counts("failed"): "60x9", counts("uncertain"): "40x9"},
        quiet={counts("sent"): "90x9", counts("failed"): "5x9", counts("uncertain"): "4x9"},
        at="12m",
        summary="10% of what campaign shop/spring handed off is undelivered.",
    ),
    Case(
        "SendonceUncertainWaiting",
        firing={of("campaign_unresolved_deliveries"): "3x40"},
        quiet={of("campaign_unresolved_deliveries"): "3x9 0x5 3x9"},
        at="20m",
        summary="3 deliveries of campaign shop/spring have an unknown outcome and wait for a person.",
    ),
    Case(
        "SendoncePaceNotReached",
        firing={of("campaign_pace"): "4x40", of("campaign_pace_wanted"): "10x40"},
        quiet={of("campaign_pace"): "5x40", of("campaign_pace_wanted"): "10x40"},
        summary="Campaign shop/spring ends 4 deliveries per second, less than half of what its provider allows it.",
    ),
    Case(
        "SendonceDeadlineAtRisk",
        firing={
            of("campaign_estimated_end_timestamp_seconds"): "90000x40",
            of("campaign_deadline_timestamp_seconds"): "80000x40",
        },
        quiet={
            of("campaign_estimated_end_timestamp_seconds"): "79999x40",
            of("campaign_deadline_timestamp_seconds"): "80000x40",
        },
        summary="Campaign shop/spring will not be over by its deadline at this pace.",
    ),
    Case(
        "SendonceDeadlineAtRisk",
        firing={of("campaign_deadline_timestamp_seconds"): "5000x40", counts("pending"): "7x40"},
        quiet={of("campaign_deadline_timestamp_seconds"): "5000x40", counts("pending"): "0x40"},
        summary="Campaign shop/spring will not be over by its deadline at this pace.",
    ),
    Case(
        "SendonceProviderPaused",
        firing={provider("paused_seconds"): "0+60x40", provider("open_deliveries"): "9x40"},
        quiet={provider("paused_seconds"): "0+60x40", provider("open_deliveries"): "0x40"},
        at="20m",
        labels={"namespace": "shop", "provider": "smtp"},
        summary="Provider shop/smtp has let nothing through for 20m 0s.",
    ),
    Case(
        "SendonceProviderPaused",
        firing={
            provider("paused_seconds", 'provider="sms"'): "0+60x40",
            provider("open_deliveries", 'provider="sms"'): "9x40",
        },
        quiet={
            provider("paused_seconds"): "0 300 600 850 0 300 600 850 0 300 600 850 0x30",
            provider("open_deliveries"): "9x40",
        },
        at="20m",
        labels={"provider": "sms"},
        summary="Provider sms has let nothing through for 20m 0s.",
    ),
    Case(
        "SendonceOperatorDown",
        firing={"sendonce_store_up": "1x9 stale"},
        quiet={"sendonce_store_up": "0x40"},
        labels={},
        summary="Sendonce's operator is not there, or is not scraped.",
    ),
    Case(
        "SendonceDatabaseUnreachable",
        firing={"sendonce_store_up": "0x40", "sendonce_look_age_seconds": "1x40"},
        quiet={"sendonce_store_up": "1 0 1 1 0 1x40", "sendonce_look_age_seconds": "30x40"},
        labels={},
        summary="Sendonce's operator can't use its database.",
    ),
    Case(
        "SendonceDatabaseUnreachable",
        firing={"sendonce_store_up": "1x40", "sendonce_look_age_seconds": "0+60x40"},
        # two operators, one of which hangs
        quiet={
            'sendonce_store_up{pod="a"}': "1x40",
            'sendonce_look_age_seconds{pod="a"}': "0+60x40",
            'sendonce_look_age_seconds{pod="b"}': "1x40",
        },
        labels={},
        summary="Sendonce's operator can't use its database.",
    ),
    Case(
        "SendonceWatchSilent",
        firing={"sendonce_watch_canary_age_seconds": "0+60x40", "sendonce_list_age_seconds": "30x40"},
        quiet={"sendonce_watch_canary_age_seconds": "0 60 0 60x40", "sendonce_list_age_seconds": "299x40"},
        labels={},
        summary="Sendonce's operator does not hear of changes in the cluster.",
    ),
    Case(
        "SendonceWatchSilent",
        firing={"sendonce_watch_canary_age_seconds": "0x40", "sendonce_list_age_seconds": "0+60x40"},
        quiet={"sendonce_watch_canary_age_seconds": "0x40", "sendonce_list_age_seconds": "60x40"},
        labels={},
        summary="Sendonce's operator does not hear of changes in the cluster.",
    ),
    Case(
        "SendonceReconcileErrors",
        firing={'sendonce_reconcile_failures_total{why="ApiServer"}': "0+1x40"},
        quiet={
            'sendonce_reconcile_failures_total{why="InvalidSpec"}': "0+9x40",
            'sendonce_reconcile_failures_total{why="Internal"}': "0x20 3x20",
        },
        labels={"why": "ApiServer"},
        summary="Sendonce's operator fails again and again (ApiServer).",
    ),
    Case(
        "SendonceGatewayDown",
        firing={"sendonce_gateway_store_up": "1x9 0x5 stale"},
        # one of two Pods is enough
        quiet={
            'sendonce_gateway_store_up{pod="a"}': "1x9 0x40",
            'sendonce_gateway_store_up{pod="b"}': "1x40",
        },
        at="16m",
        labels={},
        summary="No gateway of Sendonce is there that can use the store, or none is scraped.",
    ),
    Case(
        "SendonceGatewayErrors",
        firing={requests("/u/{token}", 503): "0+1x40", requests("/u/{token}", 200): "0+9x40"},
        quiet={
            # one in a hundred
            requests("/u/{token}", 503): "0+1x40",
            requests("/u/{token}", 200): "0+99x40",
            # so few that it may be chance
            requests("/p/{token}", 503): "0x10 3x40",
            requests("/p/{token}", 404): "0+9x40",
        },
        labels={"route": "/u/{token}"},
        summary="Sendonce's gateway can't answer 10% of the requests to /u/{token}.",
    ),
    Case(
        "SendonceReceiptsRefused",
        firing={refused("ses", "bad_signature"): "0+1x60", refused("line", "too_many"): "0+9x60"},
        quiet={
            # somebody tries, and the provider itself is let in
            refused("ses", "bad_signature"): "0+9x60",
            'sendonce_gateway_receipts_total{provider="ses",kind="bounced",result="marked"}': "0+1x60",
            refused("twilio", "busy"): "0+9x60",
        },
        at="50m",
        labels={"provider": "ses", "why": "bad_signature"},
        summary="Receipts of ses are refused (bad_signature), and none of it has been taken for half an hour.",
    ),
    Case(
        "SendonceEnqueueRefused",
        firing={requests(RECIPIENTS, 409): "0+2x40", requests(RECIPIENTS, 202): "0+8x40"},
        quiet={
            requests(RECIPIENTS, 422): "0+2x40",
            requests(RECIPIENTS, 202): "0+98x40",
            requests("/u/{token}", 404): "0+99x40",
        },
        labels={"status": "409"},
        summary="20% of the recipients that applications add are refused with 409.",
    ),
)  # fmt: skip

"""The rules of a provider that look at more than one field, and their tables; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.channels import ProviderType
from sendonce_store.spec.far_ends import BLOCKS, NEEDED_BLOCKS, WITHOUT_SECRET
from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.http_provider import ErrorRule, HttpProvider
    from sendonce_store.spec.namespaces import AllowedNamespaces, LabelRequirement
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.provider import ProviderSpec


def only_the_block_of_the_type(spec: ProviderSpec) -> Iterator[Path]:
    """The block of the type is there, unless it has no required field, and no other."""
    for kind, block in BLOCKS.items():
        there = spec.block(kind) is not None
        if (there and kind is not spec.type) or (not there and kind is spec.type and kind in NEEDED_BLOCKS):
            yield (block,)


def named_types_have_a_secret(spec: ProviderSpec) -> Iterator[Path]:
    """Every named far end wants credentials."""
    if spec.type not in WITHOUT_SECRET and spec.credentials_secret_ref is None:
        yield ("credentialsSecretRef",)


def _block_cel(kind: ProviderType, block: str) -> str:
    if kind in NEEDED_BLOCKS:
        return f"has(self.{block}) == (self.type == '{kind}')"
    return f"(!has(self.{block}) || self.type == '{kind}')"


def key_header_and_window_go_together(http: HttpProvider) -> Iterator[Path]:
    """A key that is remembered for an unknown time makes no repeat safe; a window without a key means nothing."""
    if http.idempotency_key_header is not None and http.key_window_seconds is None:
        yield ("keyWindowSeconds",)
    if http.key_window_seconds is not None and http.idempotency_key_header is None:
        yield ("idempotencyKeyHeader",)


def error_rule_matches_something(rule: ErrorRule) -> Iterator[Path]:
    """A rule for everything would take successes too."""
    if rule.status is None and rule.code is None:
        yield ()


def selector_goes_with_its_kind(allowed: AllowedNamespaces) -> Iterator[Path]:
    """A selector is there exactly where it is used."""
    if (allowed.from_ == "Selector") != (allowed.selector is not None):
        yield ("selector",)


def values_go_with_their_operator(requirement: LabelRequirement) -> Iterator[Path]:
    """In and NotIn compare with values, Exists and DoesNotExist do not."""
    if (requirement.operator in {"In", "NotIn"}) != bool(requirement.values):
        yield ("values",)


PROVIDER_RULES: tuple[Rule[ProviderSpec], ...] = (
    Rule(
        name="only-the-block-of-the-type",
        scope="spec",
        field="",
        message="a provider has the block of its type and no other: http for HTTP, smtp for SMTP, twilio for Twilio, "
        "and so on",
        cel=" && ".join(_block_cel(kind, block) for kind, block in BLOCKS.items()),
        breaches=only_the_block_of_the_type,
    ),
    Rule(
        name="named-types-have-a-secret",
        scope="spec",
        field="credentialsSecretRef",
        message="is required for this type: name a Secret with the keys that the type's block says",
        cel=f"self.type in {sorted(map(str, WITHOUT_SECRET))} || has(self.credentialsSecretRef)",
        breaches=named_types_have_a_secret,
    ),
)
HTTP_RULES: tuple[Rule[HttpProvider], ...] = (
    Rule(
        name="key-header-and-window",
        scope="spec.http",
        field="",
        message="idempotencyKeyHeader and keyWindowSeconds go together: set both, or neither if keys are not honoured",
        cel="has(self.idempotencyKeyHeader) == has(self.keyWindowSeconds)",
        breaches=key_header_and_window_go_together,
    ),
)
ERROR_RULE_RULES: tuple[Rule[ErrorRule], ...] = (
    Rule(
        name="error-rule-matches-something",
        scope="spec.http.errorRules[*]",
        field="",
        message="set status, code or both; an error rule without either would match every answer",
        cel="has(self.status) || has(self.code)",
        breaches=error_rule_matches_something,
    ),
)
NAMESPACES_RULES: tuple[Rule[AllowedNamespaces], ...] = (
    Rule(
        name="selector-goes-with-its-kind",
        scope="spec.allowedNamespaces",
        field="selector",
        message="is required with `from: Selector`, and not allowed with `from: All`",
        cel="has(self.selector) == (self.from == 'Selector')",
        breaches=selector_goes_with_its_kind,
    ),
)
REQUIREMENT_RULES: tuple[Rule[LabelRequirement], ...] = (
    Rule(
        name="values-go-with-their-operator",
        scope="spec.allowedNamespaces.selector.matchExpressions[*]",
        field="values",
        message="are required with In and NotIn, and not allowed with Exists and DoesNotExist",
        cel="(has(self.values) && self.values.size() > 0) == (self.operator in ['In', 'NotIn'])",
        breaches=values_go_with_their_operator,
    ),
)

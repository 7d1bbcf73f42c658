"""The resources that people write, as models: campaigns, providers, actions, and the objects they refer to.

`load_documents` turns YAML into models or raises `SpecError` with every mistake. CRDs and reference pages are
generated from the models, and from the tables of rules beside them.
"""

from sendonce_store.spec.action import (
    ActionSpec,
    ActionStatus,
    ActionType,
    CampaignRef,
    DeadLetterState,
    DeliveryReason,
    DeliverySelection,
    NotificationAction,
    ResolveAs,
)
from sendonce_store.spec.attachments import Attachment
from sendonce_store.spec.base import SpecModel
from sendonce_store.spec.campaign import CampaignSpec, Category, NotificationCampaign, Priority
from sendonce_store.spec.campaign_status import (
    CampaignStatus,
    CanaryCounts,
    DeliveryCounts,
    ErrorCount,
    ReceiptCounts,
    RecipientCounts,
    RolloutStage,
    RolloutStatus,
    WorkerCounts,
)
from sendonce_store.spec.canonical import canonical_json, content_hash
from sendonce_store.spec.channels import (
    ADDRESS_COLUMNS,
    CARRIES_ATTACHMENTS,
    CHANNELS_OF_TYPE,
    RESERVED_COLUMNS,
    Channel,
    ProviderType,
)
from sendonce_store.spec.conditions import Condition, ConditionStatus
from sendonce_store.spec.core_objects import ConfigMap, Secret
from sendonce_store.spec.documents import KINDS, Document, Resource, load_documents
from sendonce_store.spec.http_provider import BodyFormat, ErrorClass, ErrorRule, HttpMethod, HttpProvider, HttpTls
from sendonce_store.spec.messages import (
    After,
    FallbackOutcome,
    Message,
    ProviderKind,
    ProviderRef,
    Template,
    TemplateVariant,
)
from sendonce_store.spec.metadata import (
    API_VERSION,
    CampaignMetadata,
    ClusterMetadata,
    ConfigMapKeyRef,
    ConfigMapRef,
    Metadata,
    SecretKeyRef,
    SecretRef,
)
from sendonce_store.spec.named_messaging import TwilioProvider
from sendonce_store.spec.namespaces import AllowedNamespaces, LabelRequirement, LabelSelector
from sendonce_store.spec.problems import Path, Problem, SpecError, field_name
from sendonce_store.spec.provider import (
    ClusterNotificationProvider,
    ClusterProviderSpec,
    Limit,
    NotificationProvider,
    ProviderError,
    ProviderSpec,
    ProviderStatus,
)
from sendonce_store.spec.recipients import (
    Compression,
    ExpectedCount,
    HttpSource,
    InlineRecipient,
    MysqlSource,
    PostgresSource,
    RecipientFormat,
    Recipients,
    S3Source,
)
from sendonce_store.spec.rollout import (
    Canary,
    FailureAction,
    FailurePolicy,
    Promotion,
    Retry,
    Rollout,
    UncertainPolicy,
)
from sendonce_store.spec.rule_tables import RULES, TRANSITIONS, refused_changes
from sendonce_store.spec.rules import Rule, TransitionRule
from sendonce_store.spec.schedule import QuietHours, Schedule, UnknownTimezonePolicy
from sendonce_store.spec.smtp_provider import SmtpProvider, SmtpTls
from sendonce_store.spec.workload import ResourceRequirements, Toleration, Workers
from sendonce_store.spec.yaml_writer import to_yaml

__all__ = [
    "ADDRESS_COLUMNS",
    "API_VERSION",
    "CARRIES_ATTACHMENTS",
    "CHANNELS_OF_TYPE",
    "KINDS",
    "RESERVED_COLUMNS",
    "RULES",
    "TRANSITIONS",
    "ActionSpec",
    "ActionStatus",
    "ActionType",
    "After",
    "AllowedNamespaces",
    "Attachment",
    "BodyFormat",
    "CampaignMetadata",
    "CampaignRef",
    "CampaignSpec",
    "CampaignStatus",
    "Canary",
    "CanaryCounts",
    "Category",
    "Channel",
    "ClusterMetadata",
    "ClusterNotificationProvider",
    "ClusterProviderSpec",
    "Compression",
    "Condition",
    "ConditionStatus",
    "ConfigMap",
    "ConfigMapKeyRef",
    "ConfigMapRef",
    "DeadLetterState",
    "DeliveryCounts",
    "DeliveryReason",
    "DeliverySelection",
    "Document",
    "ErrorClass",
    "ErrorCount",
    "ErrorRule",
    "ExpectedCount",
    "FailureAction",
    "FailurePolicy",
    "FallbackOutcome",
    "HttpMethod",
    "HttpProvider",
    "HttpSource",
    "HttpTls",
    "InlineRecipient",
    "LabelRequirement",
    "LabelSelector",
    "Limit",
    "Message",
    "Metadata",
    "MysqlSource",
    "NotificationAction",
    "NotificationCampaign",
    "NotificationProvider",
    "Path",
    "PostgresSource",
    "Priority",
    "Problem",
    "Promotion",
    "ProviderError",
    "ProviderKind",
    "ProviderRef",
    "ProviderSpec",
    "ProviderStatus",
    "ProviderType",
    "QuietHours",
    "ReceiptCounts",
    "RecipientCounts",
    "RecipientFormat",
    "Recipients",
    "ResolveAs",
    "Resource",
    "ResourceRequirements",
    "Retry",
    "Rollout",
    "RolloutStage",
    "RolloutStatus",
    "Rule",
    "S3Source",
    "Schedule",
    "Secret",
    "SecretKeyRef",
    "SecretRef",
    "SmtpProvider",
    "SmtpTls",
    "SpecError",
    "SpecModel",
    "Template",
    "TemplateVariant",
    "Toleration",
    "TransitionRule",
    "TwilioProvider",
    "UncertainPolicy",
    "UnknownTimezonePolicy",
    "WorkerCounts",
    "Workers",
    "canonical_json",
    "content_hash",
    "field_name",
    "load_documents",
    "refused_changes",
    "to_yaml",
]

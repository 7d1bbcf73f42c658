"""What an object store's refusal means for whoever wrote the campaign; pure.

In: the text of obstore's exception, which holds the answer's status and its XML (Amazon S3 API reference, "Error
responses"; other stores use the same codes). Out: one of our errors, which shows nothing of that text but the code: it
may name access keys and what was signed.
"""

import re

from sendonce_store.spec.s3_source import S3Source

from .errors import ContentChangedError, SourceUnreadableError

S3_FIELD = "spec.recipients.s3"
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>").search
_STATUS = re.compile(r"status code: (\d{3})").search
_CHANGED = frozenset({"PreconditionFailed", "InvalidRange"})
_KEYS_REFUSED = ("credentialsSecretRef", "the object store refuses the credentials")
_WRONG_REGION = ("region", "the bucket is in another region")
# what a code means: the field, and the problem with its fix
_MEANINGS = {
    "NoSuchBucket": ("bucket", "the object store has no such bucket; check bucket, endpointURL and region"),
    "NoSuchKey": ("key", "the bucket has no such object"),
    "InvalidObjectState": ("key", "the object is archived; restore it first"),
    "RequestTimeTooSkewed": (
        "endpointURL",
        "the object store's clock and the worker's differ; set the clocks",
    ),
    "SignatureDoesNotMatch": _KEYS_REFUSED,
    "InvalidAccessKeyId": _KEYS_REFUSED,
    "XAdminUserNotFound": _KEYS_REFUSED,
    "ExpiredToken": ("credentialsSecretRef", "the credentials have expired; put new ones into the Secret"),
    "InvalidToken": _KEYS_REFUSED,
    "AuthorizationHeaderMalformed": _WRONG_REGION,
    "PermanentRedirect": _WRONG_REGION,
    "IllegalLocationConstraintException": _WRONG_REGION,
}
_TEMPORARY = frozenset({"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted"})
_TEMPORARY_STATUSES = frozenset({"408", "429", "500", "502", "503", "504"})


def explain(text: str, source: S3Source) -> SourceUnreadableError | ContentChangedError:
    """The error that stands for the refusal."""
    code, status = _found(_CODE(text)), _found(_STATUS(text))
    if code in _CHANGED or status in {"412", "416"}:
        return ContentChangedError(f"the object store answers {code or status} for the version that was begun")
    if code is None and status is None:
        return _unanswered(text, source)
    return _refused(code or "no code", status, source)


def _refused(code: str, status: str | None, source: S3Source) -> SourceUnreadableError:
    if meaning := _MEANINGS.get(code):
        name, problem = meaning
        return _problem(name, f"{problem} ({code})")
    if code in _TEMPORARY or status in _TEMPORARY_STATUSES:
        return _problem("", f"the object store answers {status} ({code})", temporary=True)
    if status in {"401", "403"}:
        return _problem("", f"the object store does not let us read the object ({code}){_allow(source)}")
    return _problem("", f"the object store answers {status} ({code}); check endpointURL, bucket and key")


def _unanswered(text: str, source: S3Source) -> SourceUnreadableError:
    if "InvalidCertificate" in text:
        return _problem("endpointURL", "shows a certificate that is not trusted")
    if "Header" in text and "missing" in text.lower():
        return _problem("endpointURL", "answers with something that is no object of an object store; check the URL")
    where = source.endpoint_url or f"Amazon S3 in {source.region}"
    return _problem("endpointURL", f"cannot connect to {where}, or the connection breaks off", temporary=True)


def _allow(source: S3Source) -> str:
    if source.credentials_secret_ref is None:
        return "; name credentialsSecretRef: requests without it are not signed"
    return "; allow its credentials s3:GetObject"


def _problem(name: str, problem: str, *, temporary: bool = False) -> SourceUnreadableError:
    return SourceUnreadableError(f"{S3_FIELD}.{name}" if name else S3_FIELD, problem, temporary=temporary)


def _found(match: re.Match[str] | None) -> str | None:
    return match[1] if match else None

"""What can be wrong with a source of recipients as a whole.

A single bad row is no exception: it becomes a `Rejected` and the rest goes on.

    ImportSourceError
    ├── SourceUnreadableError      cannot be read, or is not what the spec says; `temporary` when a retry may help
    ├── SourceChangedError         no longer the bytes that the import has begun with
    ├── MissingColumnError         no column for any channel of the campaign
    └── NotMountedError            a file that Kubernetes mounts is not there (yet)
        ├── SecretNotFoundError      a Secret, or a key in it, is not mounted
        └── ConfigMapNotFoundError   a ConfigMap, or a key in it, is not mounted
"""


class ImportSourceError(Exception):
    """The source cannot be imported: `field` is the path in the spec, `problem` says what is wrong and the fix.

    `temporary` is True when the same import may work later without anybody changing anything.
    """

    def __init__(self, field: str, problem: str, *, temporary: bool = False) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
        self.temporary = temporary


class SourceUnreadableError(ImportSourceError):
    """The source did not answer, broke off, or is not in the format and encoding that the spec names."""


class SourceChangedError(ImportSourceError):
    """The source is not the one that the import began with: going on would mix two lists."""

    def __init__(self, field: str, line: int, detail: str) -> None:
        fix = "start a new campaign, with another sendKey, for the new list, or put the old one back"
        super().__init__(field, f"the source changed since line {line} was read: {detail}; {fix}")
        self.line = line


class MissingColumnError(ImportSourceError):
    """There is no column for any channel that the campaign uses, so that nobody could be reached."""

    def __init__(self, field: str, wanted: tuple[str, ...], found: str) -> None:
        listed = " or ".join(wanted)
        super().__init__(field, f"has no column {listed}, which the campaign's channels need; found: {found}")
        self.wanted = wanted


class NotMountedError(ImportSourceError):
    """A mounted file is missing: it does not exist, or the kubelet is late with what was made a moment ago."""


class SecretNotFoundError(NotMountedError):
    """A Secret that the campaign refers to, or a key in it, is not there."""


class ConfigMapNotFoundError(NotMountedError):
    """A ConfigMap that the campaign refers to, or a key in it, is not there."""


class ContentChangedError(Exception):
    """Inside this package: a source saw that its content changed; the import, which knows the line, says so."""

"""What can go wrong with a template: when it is compiled, and when it is rendered for one recipient.

`TemplateError` is the sender's mistake: it is found before anything is sent and stops the campaign or the preview.
`RenderError` is about one recipient: the delivery becomes a dead letter with reason `render_error`.
Neither carries the value of a variable: their text goes to logs, to the ledger and to status.
"""

from __future__ import annotations

__all__ = ["RenderError", "TemplateError"]


class TemplateError(Exception):
    """A template that cannot be used, whoever the recipient is.

    `field` is the path inside the template ("subject", "headers.X-Tag"), `line` counts from 1 (None: the whole
    field), and `message` says what is wrong and what would be right.
    """

    def __init__(self, field: str, message: str, line: int | None = None) -> None:
        """Keep the parts; the text joins them as "subject, line 2: …"."""
        super().__init__(field, message, line)
        self.field = field
        self.message = message
        self.line = line

    def __str__(self) -> str:
        """Return the message with its place."""
        return f"{_place(self.field, self.line)}: {self.message}"


class RenderError(Exception):
    """A template that could not be rendered for one recipient.

    `code` is one of: `undefined_variable`, `null_value`, `unprintable`, `unsafe`, `header_injection`, `not_text`,
    `too_many_steps`, `too_large`, `too_deep`, `time_limit`, `expression_failed`.
    """

    def __init__(self, code: str, message: str, field: str | None = None, line: int | None = None) -> None:
        """Keep the parts; the text joins them as "subject, line 2: …"."""
        super().__init__(code, message, field, line)
        self.code = code
        self.message = message
        self.field = field
        self.line = line

    def __str__(self) -> str:
        """Return the message with its place."""
        if self.field is None:
            return self.message
        return f"{_place(self.field, self.line)}: {self.message}"


def _place(field: str, line: int | None) -> str:
    return field if line is None else f"{field}, line {line}"

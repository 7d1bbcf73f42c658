"""The script that makes drawings of `mermaid` blocks, pinned.

In: nothing. Out: its path in the user's cache folder. The theme would fetch it from a public server whenever a page is
read.
"""

import sys
from pathlib import Path

from tools.npm import NotFetchedError, Pinned

MERMAID = Pinned(
    package="mermaid",
    version="12.3.0",
    digest="4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw==",
    inside="package/dist/mermaid.min.js",
    kept_as="mermaid-12.3.0.min.js",
)


def script() -> Path:
    """Return the script, fetched if it is not there yet; exits with the reason where it can't be had."""
    try:
        return MERMAID.path()
    except NotFetchedError as error:
        sys.exit(str(error))

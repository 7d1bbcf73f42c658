"""The proof of a finished campaign: its rows in the store in, a report that adds up out.

    facts.py     reads the store, in one snapshot                         I/O
    building.py  facts → Proof: sums, reasons, repeats, what is unknown   pure
    document.py  Proof ↔ JSON, and the digest over its canonical form     pure
    sheet.py     Proof → CSV                                              pure
    page.py      Proof → a page to print                                  pure

The digest says that nobody changed a report since; who made it is said by a signature over the file (the `sendonce`
command makes and checks those).
"""

from sendonce_store.proof.building import Proof, ProofError, build
from sendonce_store.proof.document import TamperedError, checked, to_json
from sendonce_store.proof.facts import Facts, read
from sendonce_store.proof.page import CONTENT_SECURITY_POLICY, to_html
from sendonce_store.proof.sheet import to_csv

__all__ = [
    "CONTENT_SECURITY_POLICY",
    "Facts",
    "Proof",
    "ProofError",
    "TamperedError",
    "build",
    "checked",
    "read",
    "to_csv",
    "to_html",
    "to_json",
]

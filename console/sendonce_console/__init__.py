"""The console: pages and a JSON API over the ledger, for people who ask what happened."""

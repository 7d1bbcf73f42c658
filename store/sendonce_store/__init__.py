"""The store: PostgreSQL queue and ledger, and the models of the documents that people write."""

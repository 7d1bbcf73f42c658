"""The public gateway: what people, mailbox providers and applications send to Sendonce over HTTP."""

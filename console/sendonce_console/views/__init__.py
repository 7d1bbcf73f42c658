"""What pages show, made from what the store says: records in, records out. Pure, tested without a server."""

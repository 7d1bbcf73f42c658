"""What people order: what an order will do said first, who may give it, and the two ways to give it."""

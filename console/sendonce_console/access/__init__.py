"""Who is asking, and what they may see: doors, sessions, forms that can't be forged."""

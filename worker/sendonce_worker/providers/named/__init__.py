"""The far ends that have names, one module each; they do not know each other. ``providers.registry`` loads them."""

"""The plugin's version, which is the product's; a test holds it against pyproject.toml."""

VERSION = "0.2.0"

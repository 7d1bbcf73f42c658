"""The JSON API, by subject. Each module has a table `routes`; `openapi` describes them all."""

"""The providers that report, one module each; they do not know each other. `registry` lists them."""

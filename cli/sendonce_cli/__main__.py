"""`python -m sendonce_cli`, the same as `sendonce`."""

from sendonce_cli.main import main

main()

"""`python -m sendonce_worker`."""

from sendonce_worker.main import main

main()

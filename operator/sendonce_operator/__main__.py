"""`python -m sendonce_operator` is the operator."""

from sendonce_operator.main import main

main()

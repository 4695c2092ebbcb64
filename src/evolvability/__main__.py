"""`python -m evolvability` is `ees`."""

from evolvability.cli import main

main()

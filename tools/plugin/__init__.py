"""`kubectl campaign` as one file, the archive that krew installs, and krew's manifest."""

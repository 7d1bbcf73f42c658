"""A campaign on this machine: worker processes, how they are watched over, and what a person sees of it."""

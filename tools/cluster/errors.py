"""What can go wrong, for a person: each message says what the problem is and what cures it."""


class ClusterError(Exception):
    """The order can't be carried out. The message is for the person who gave it."""


class MissingPartError(ClusterError):
    """The machine lacks something. The message names each part and its cure."""

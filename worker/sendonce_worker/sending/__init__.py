"""From a claimed batch to its release: the path on which every message goes out once.

`session` tells the story, `handoff` is its one risky step; `clock` holds the lease, `outcomes` and `quiet_hours`
decide, `pacer` brings the slots, `plan` says what the campaign wants of each channel.
"""

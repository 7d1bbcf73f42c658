"""`make demo`: one campaign to 2,000 people, a far end that misbehaves, workers that are killed, and the proof.

`show` tells the story; `readers` makes the list, `far_end` runs the simulator, `saboteur` kills, `proof` judges.
"""

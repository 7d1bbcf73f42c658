"""Looking at a campaign: before it is sent, what its messages would say and what is odd about them and its people.

Afterwards, what went out. For the command line and the console. Reads rows as an import does and renders as a hand-off
does; sends nothing.
"""

"""What the operator decides, apart from how it reads and writes: facts in, plain data out; no I/O.

facts       what was read of an object, of its workers and of its providers
refusal     why nothing can be done for a campaign
size        how many workers
deployment  the Deployment that runs them
progress    how fast a campaign goes, and since when nothing has moved
status      a campaign's whole status, from `conditions`, `standing` and `estimate`
providers   the status of a provider
actions     the status of an action, and the order that it gives
events      what changed that a person would want to be told
lifetime    when a finished campaign's object is deleted
patching    what of a status has to be written
"""

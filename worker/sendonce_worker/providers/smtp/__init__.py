"""``type: SMTP``: mail by an SMTP server, over kept connections and with pipelining.

``mime`` turns a message into the bytes of a mail, ``session`` opens connections, ``transaction`` hands one mail
over on one of them, ``classification`` says what a refusal means, ``provider`` ties them together.
"""

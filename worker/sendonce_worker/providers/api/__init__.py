"""The frame of the named providers: a far end is a pure module, everything around it is here.

::

    message → Api.call → request → http1 client → answer → Api.read → Api.table → Accepted, or an error

``base`` says what a module brings, ``table`` classifies, ``provider`` does the hand-off, ``facts`` is what is said of a
far end; ``bodies``, ``email``, ``sms``, ``sigv4`` and ``tokens`` are what several of them need.
"""

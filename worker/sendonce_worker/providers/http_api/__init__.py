"""``type: HTTP``: any JSON, form or text API, by configuration.

``body`` and ``head`` turn a message into the bytes of a request, ``answers`` turns what came back into a
verdict, ``provider`` ties both to the HTTP client.
"""

"""A small HTTP/1.1 client for many small requests to one origin.

One request is one write, one answer wakes one task. It knows nothing of messages and providers:
:class:`~sendonce_worker.providers.http1.client.Client` takes the bytes of a request and returns an
:class:`~sendonce_worker.providers.http1.connection.Answer`, or says whether the request may have arrived.
"""

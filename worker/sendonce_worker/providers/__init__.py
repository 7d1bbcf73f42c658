"""Providers: the far ends that take messages, one sub-package per kind.

The worker builds one with :func:`sendonce_worker.providers.registry.build_provider`, hands it a
:class:`~sendonce_worker.providers.base.Message` and gets an ``Accepted`` or one of the errors of
:mod:`sendonce_worker.providers.errors`. A provider tries once; retrying lives in the queue.
"""

"""What a reader calls, a file a family, and what a reader holds afterwards.

``comparing`` has ``compare`` and ``measure``: it checks their ``options``, finds the ways to run a
model (``variants``) or to train it (``training``), and runs an ``experiment``. What comes of that
is a ``comparison``, of which ``claims`` can be made; ``sweeping`` makes one for each size.
``callables`` has what is compared; ``source_file`` reads it where a file is named, as in a shell.
``explaining`` has ``explain`` and ``graph``, and ``doctor`` what works here. Saving and
loading are in ``artifacts``.
"""

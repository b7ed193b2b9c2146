"""What a reader calls, a file a verb, and what a reader holds afterwards.

``compare`` checks its ``options``, finds the ``variants`` of a model, those of ``inference`` or of
``training``, and runs an ``experiment``. What comes of that is a ``comparison``, of which
``claims`` can be made; ``sweep`` makes one for each size, and ``measure`` times one callable.
``callables`` has what is compared; ``source_file`` reads it where a file is named, as in a shell.
``explaining`` has ``explain`` and ``graph``, and ``doctor`` what works here. Saving and loading
are in ``artifacts``.
"""

"""What a reader calls, a file a verb.

``compare`` checks its ``options``, finds the ``variants`` of a model, and runs an experiment on
them; ``sweep`` makes a comparison for each size, ``measure`` times one callable, and ``training``
has the ways to train. ``ways`` is what ``variants`` and ``training`` return, and ``callables`` what
is compared of whatever is given, such as a file that a shell names.
``explaining`` has ``explain`` and ``graph``, and ``doctor`` what works here. Saving and loading
are in ``artifacts``.
"""

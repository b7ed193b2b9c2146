"""What compilers make of a model: its graph at each stage, and the fates of the operations.

A framework's ``explain`` records a call and makes ``stages`` of it, with ``hlo`` where XLA has
compiled it. ``fates`` decides, on the ``evidence``, what became of each operation. ``graph`` shows
the stages as text or as a ``picture``, ``program`` counts what the graphs of a call come to, and
``explanation`` says it in words. ``facts`` are what ``d2lhybrid.why`` observes of a variant.
"""

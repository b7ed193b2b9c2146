"""Rows become text, HTML, pictures and data. Nothing here knows a clock.

1. ``rows``: measurements -> a row for each variant, with all that is shown of it.
2. ``text``: rows -> a page, from the top: ``cautions``, one of the ``tables``, the ``advice``, why
   (from the folder of that name), ``remarks`` and details. ``verdicts`` has the words for verdicts,
   and ``claims`` the sentences on a claim.
3. ``pictures``: rows -> marks, steps and curves, which ``plot`` draws.
4. ``summary``: rows -> plain data, for programs that read notebooks.
"""

"""Rows become text, HTML, pictures and data. Nothing here knows a clock.

1. ``rows``: measurements -> a row for each variant, with all that is shown of it; and rows -> plain
   data, for programs that read notebooks.
2. ``page``: rows -> text and HTML: one of the ``tables``, the ``remarks`` above and below it, the
   ``advice``, why (from the folder of that name) and details. ``verdicts`` has the words for
   verdicts, and ``claim_sentences`` what is said of a claim.
3. ``pictures``: rows -> marks, steps and curves, which ``plot`` draws.
"""

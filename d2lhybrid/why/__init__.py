"""Why a variant takes as long as it does: facts that were observed, and a cause if one is decisive.

``asking`` asks the framework after the rounds, ``facts_line`` makes one line of the facts that it
finds (``graphs.facts``), as a database's EXPLAIN does, and ``rules`` is the table of causes, in the
order of its docstring. What isn't known is left out.
"""

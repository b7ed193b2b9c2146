"""An experiment takes rounds, here or in fresh processes, and what comes of it is a comparison.

1. ``experiment`` calls each callable once, holds the answers against each other, and takes rounds.
2. ``comparison`` is what a reader holds: what was measured, shown as a page, and asked further;
   ``judge`` decides a claim on it, for which the experiment may take more rounds.
3. ``process_experiment`` does the same in several fresh processes, one after the other. ``dump``
   packs what one of them does, ``fresh_process`` runs it, and ``join`` makes one comparison of
   theirs.
"""

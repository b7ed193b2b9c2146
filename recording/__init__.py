"""The GPU part: what a machine with an accelerator runs, and the files that it leaves.

``python -m recording run`` runs it (`make record`); ``python -m recording kit`` packs what a
machine needs that has no copy of this repository (`make record-kit`). The way of a result:

1. ``plan`` says what is run, in the order of its worth.
2. ``supervisor`` starts a process for each step, with a time limit (``process``).
3. ``worker`` is that process. ``networks``, ``cells`` and ``checks`` do the work.
4. ``recordings`` are the files, which the notebooks and the site read.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

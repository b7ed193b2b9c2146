"""What a machine with an accelerator runs, and the files that it leaves: ``make record``.

The way of a result:

1. ``run`` starts a process for each part, in the order of their worth, with a time limit.
2. ``part`` is that process: ``device`` says what it runs on; ``notebooks``, ``cells`` and
   ``networks`` do the work, with the code that ``notebook_code`` and ``chapter_networks`` read from
   the committed notebooks.
3. ``recordings`` are the files, which the notebooks and the site read.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

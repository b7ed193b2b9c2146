"""What a machine with an accelerator runs, and the files that it leaves: ``make record``.

The way of a result:

1. ``plan`` says which parts there are, in the order of their worth.
2. ``run`` starts a process for each part, with a time limit. ``device`` says what it runs on.
3. ``part`` is that process: ``notebooks``, ``cells`` and ``networks`` do the work, with the code
   that ``notebook_code`` and ``chapter_networks`` read from the committed notebooks.
4. ``recordings`` are the files, which the notebooks and the site read; ``tables`` prints some.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

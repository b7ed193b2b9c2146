"""What a long benchmark has measured so far: one line of JSON a result, written as it comes.

An interrupted run goes on where it was. Results of other code or of another machine are no part of
the same table, so the file is deleted, or another one named, before a new campaign.
"""

import json
from pathlib import Path


class Results:
    """Results by key; a key is a tuple of texts and numbers."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else ()
        self.by_key = {tuple(key): result for key, result in map(json.loads, lines)}

    def measured(self, key, measure):
        """The result under a key, from ``measure()`` if there is none yet."""
        if key not in self.by_key:
            self.by_key[key] = measure()
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.by_key[key]]) + "\n")
        return self.by_key[key]

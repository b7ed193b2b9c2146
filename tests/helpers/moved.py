"""Recordings of the collection with other numbers: as another processor has them, or another run.

Processors differ in the last bits of what they compute, and each starts from what was recorded.
"""

import json
import sys

A_FEW_LAST_BITS = 4 * sys.float_info.epsilon
BY_LAST_BITS = (1 + A_FEW_LAST_BITS, 1 - A_FEW_LAST_BITS)
BY_ONE_PERCENT = 1.01


def copy_moved(source, target, factor=1.0):
    """Copy the files of a folder, with every number but the whole ones multiplied."""
    for file in source.rglob("*.json"):
        text = file.read_text(encoding="utf-8")
        content = json.loads(text, parse_float=lambda number: factor * float(number))
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(content), encoding="utf-8")

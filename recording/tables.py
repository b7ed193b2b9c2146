"""What recorded networks show, as tables in Markdown: ``python -m recording table FILE``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from recording.recordings import Measured, NetworksRecording, RecordingError, Row, read_recording

METRICS = ("latency", "throughput")


def tables(file: Path) -> str:
    """Latency and throughput: one row a case, one figure for each process.

    A row has the baseline's time, then how many times as fast the others are. An undecided ratio is
    in parentheses; one without an interval has a question mark.

    Raises:
        RecordingError: the file isn't a recording of networks.
    """
    recording = read_recording(file)
    if not isinstance(recording, NetworksRecording):
        raise RecordingError(f"Expected recorded networks in {file}. Received: {recording.part}.")
    measured = [entry for entry in recording.entries if entry.rows]
    return "\n".join(line for metric in METRICS for line in table(measured, metric))


def table(measured: Sequence[Measured], metric: str) -> Iterator[str]:
    """The lines of one table."""
    labels = list(dict.fromkeys(row.label for entry in measured for row in entry.rows))
    yield from ("", f"| {metric} | " + " | ".join(labels) + " |", "|---|" + "---:|" * len(labels))
    for case in dict.fromkeys(entry.name for entry in measured):
        cells: dict[str, list[str]] = {label: [] for label in labels}
        for entry in measured:
            if entry.name == case:
                for row in entry.rows:
                    cells[row.label].append(shown(row, metric, row is entry.rows[0]))
        yield f"| {case} | " + " | ".join(map(", ".join, cells.values())) + " |"


def shown(row: Row, metric: str, is_baseline: bool) -> str:
    """The baseline's time in milliseconds, or another row's ratio to it."""
    if metric not in row.seconds:
        return ""
    if is_baseline:
        return f"{row.seconds[metric] * 1e3:.3g} ms"
    ratio, low, _high = row.ratio[metric]
    if not low:  # too few rounds for an interval
        return f"{ratio:.3g}?"
    return f"({ratio:.3g})" if row.verdict[metric] == "undecided" else f"{ratio:.3g}"

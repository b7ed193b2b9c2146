"""The recordings in the repository can be read, and what is none is refused with a sentence."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recording.recordings import (
    CPU,
    PARTS,
    NetworksRecording,
    RecordingError,
    read_recording,
    read_recordings,
    write_recording,
)

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "recorded"


def changed(folder: Path, **fields: Any) -> Path:
    """One of the recordings in the repository, with other fields, in a folder of a device."""
    content = json.loads((RECORDED / "nvidia-h100/networks-jax.json").read_bytes()) | fields
    file = folder / "some-gpu" / "networks-jax.json"
    file.parent.mkdir()
    file.write_text(json.dumps(content))
    return file


def test_what_is_recorded_in_the_repository_can_be_read() -> None:
    recordings = read_recordings(RECORDED)
    assert recordings
    for recording in recordings:
        assert recording.entries, recording.part
    for device in (folder for folder in RECORDED.iterdir() if folder.name != CPU):
        assert len([*device.glob("**/*.json")]) <= len(PARTS) <= 8


def test_a_recorded_table_starts_with_its_baseline() -> None:
    networks = [one for one in read_recordings(RECORDED) if isinstance(one, NetworksRecording)]
    for entry in (entry for recording in networks for entry in recording.entries):
        baseline, *others = entry.rows
        assert baseline.verdict["latency"] == "same"
        for row in others:
            assert row.ratio["latency"][0] == pytest.approx(
                baseline.seconds["latency"] / row.seconds["latency"],
                rel=0.5,  # the median within rounds
            )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    original = read_recording(RECORDED / "nvidia-h100/networks-pytorch.json")
    write_recording(original, tmp_path / "networks-pytorch.json")
    assert read_recording(tmp_path / "networks-pytorch.json") == original
    assert [file.name for file in tmp_path.iterdir()] == ["networks-pytorch.json"]


def test_no_recordings_without_a_folder(tmp_path: Path) -> None:
    assert read_recordings(tmp_path / "recorded") == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 2}, "version 1"),
        ({"schema": "d2lhybrid-comparison"}, "schema 'd2lhybrid-recording'"),
        ({"part": "networks-pytorch"}, "the part that its name says"),
        ({"entries": [{"network": "resnet"}]}, "missing required field `batch`"),
        ({"date": "yesterday"}, "`date` isn't of the form"),
        ({"commit": "main"}, "`commit` isn't 40"),
    ],
)
def test_what_is_no_recording_is_refused(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    file = changed(tmp_path, **fields)
    with pytest.raises(RecordingError, match=re.escape(reason)) as caught:
        read_recordings(tmp_path)
    assert str(file) in str(caught.value)


def test_a_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    file = changed(tmp_path)
    file.write_text(file.read_text()[:1000])
    with pytest.raises(RecordingError, match="Expected a recording in"):
        read_recordings(tmp_path)

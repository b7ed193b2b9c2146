"""``make record`` on stand-ins, with a failure planted in each part: what it writes is whole."""

from pathlib import Path

import pytest
from processes import python

from recording.plan import REHEARSED
from recording.recordings import (
    PARTS,
    CellsRecording,
    ChecksRecording,
    NetworksRecording,
    NotebooksRecording,
    Recording,
    RecordingError,
    read_recording,
    read_recordings,
)

PARTS_1_TO_3 = [part for part in PARTS if not part.startswith("notebooks")]


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    """The recordings of parts 1 to 3, by part, of one run."""
    folder = tmp_path_factory.mktemp("rehearsed") / "stand-in"
    command = ("-m", "recording", "run", "--plant", "--to", str(folder))
    done = python(*command, "--parts", *PARTS_1_TO_3, status=1)
    assert "REHEARSED on stand-ins" in done.stdout
    assert "Left out" not in done.stdout, done.stdout
    with pytest.raises(RecordingError, match="rehearsed on a CPU"):
        read_recordings(folder.parent)
    found = {file.stem: read_recording(file, rehearsed=True) for file in folder.glob("*.json")}
    assert sorted(found) == sorted(PARTS_1_TO_3)
    for recording in found.values():
        assert recording.complete
        assert recording.rehearsed
        assert recording.device == "stand-in"
    return found


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_networks_are_whole_although_a_process_ends(
    rehearsed: dict[str, Recording], framework: str
) -> None:
    recording = rehearsed[f"networks-{framework}"]
    assert isinstance(recording, NetworksRecording)
    planted, *others = recording.entries
    assert planted.error == "The process ended by SIGKILL."
    assert len(others) == len(REHEARSED) - 1
    for entry in others:
        assert entry.error is None
        assert not entry.unavailable
        assert len(entry.rows) >= 2
        assert entry.process > planted.process
    assert len(recording.cold_starts) == len(REHEARSED)
    assert all(start.first_call and not start.error for start in recording.cold_starts)


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_cells_are_whole_and_a_wrong_name_is_found(
    rehearsed: dict[str, Recording], framework: str
) -> None:
    recording = rehearsed[f"cells-{framework}"]
    assert isinstance(recording, CellsRecording)
    wrong = [cell for cell in recording.entries if cell.error]
    assert ["_misspelled" in str(cell.error) for cell in wrong] == [True]
    for cell in recording.entries:
        assert cell.gpu
        assert cell.outputs or cell.error


def test_checks_are_whole_and_an_error_is_kept(rehearsed: dict[str, Recording]) -> None:
    recording = rehearsed["checks"]
    assert isinstance(recording, ChecksRecording)
    planted, *others = recording.entries
    assert planted.error == "RuntimeError: planted"
    names = [(entry.check, entry.framework) for entry in others]
    assert names == [
        ("tests", "pytorch"),
        ("equals", "pytorch"),
        ("planted 5%", "pytorch"),
        ("equals", "jax"),
        ("planted 5%", "jax"),
    ]
    assert all(entry.rows and not entry.error for entry in others)


def test_a_notebook_runs_to_its_end_and_a_wrong_name_is_found(tmp_path: Path) -> None:
    command = ("-m", "recording", "run", "--plant", "--parts", "notebooks-jax", "--to")
    python(*command, str(tmp_path), status=1)
    recording = read_recording(tmp_path / "notebooks-jax.json", rehearsed=True)
    assert isinstance(recording, NotebooksRecording)
    (entry,) = recording.entries
    assert entry.ran == entry.cells > 20
    assert any("_misspelled" in failed.error for failed in entry.failed)

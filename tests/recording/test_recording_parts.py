"""Each part on a small notebook or network, on the CPU."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from recording import cells, networks
from recording.chapter_networks import Case
from recording.notebook_code import code_cells
from recording.notebooks import execute
from recording.part_file import PartFile
from recording.recordings import (
    PARTS,
    SCHEMA,
    VERSION,
    Compared,
    Measured,
    Notebook,
    Recording,
    Text,
    write_recording,
)


def part(folder: Path, name: str) -> PartFile:
    """A part whose file has no entry yet."""
    kind: Any = PARTS[name]
    about = {"schema": SCHEMA, "version": VERSION, "part": name, "device": "a CPU"}
    about |= {"framework": name.rpartition("-")[2], "versions": {}}
    about |= {"date": "2026-11-29", "commit": "0" * 40, "complete": False, "entries": []}
    recording: Recording = kind(**about)
    write_recording(recording, folder / f"{name}.json")
    return PartFile(folder / f"{name}.json")


def notebook(path: Path, *sources: str) -> Path:
    """A notebook with a first cell that sets up; a source with `has_gpu` has the tag `gpu`."""
    cells = [
        new_code_cell(
            source,
            execution_count=1,
            metadata={"tags": ["gpu"] if source.startswith("if has_gpu") else []},
            outputs=[new_output("stream", text="as committed\n")] if "print" in source else [],
        )
        for source in ("set_up = 1", *sources)
    ]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_a_notebook_is_executed_and_compared(tmp_path: Path) -> None:
    path = notebook(
        tmp_path / "a.ipynb",
        "print('as committed')",
        "has_gpu = False\nprint('something else')",
        'if has_gpu:\n    1 / 0\nelse:\n    print("as committed")',
    )
    entry = Notebook(
        notebook="a", passed=0, skipped=0, left_out=0, failed=[], seconds=0, error=None
    )
    execute(path, entry)
    assert (entry.passed, entry.left_out) == (3, 1)
    (failed,) = entry.failed
    assert failed.cell == 2
    assert "something else" in "\n".join(failed.said)
    assert entry.error == "of 4 code cells, 1 failed and 1 found no GPU"


def test_cells_for_a_gpu_run_after_those_that_they_need_and_keep_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # is put back
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.05")
    path = notebook(
        tmp_path / "a.ipynb",
        "1 / 0  # nobody needs it",
        "has_gpu = True\ncount = 1",
        "if has_gpu:\n    count += 1\n    print(count)",
        "if has_gpu:\n    from d2lhybrid import compare\n    display(compare({'a': abs}, count))",
        "wrong = count / 0",
        "if has_gpu:\n    print(wrong)",
    )
    file = part(tmp_path, "cells-jax")
    cells.record_notebook(file, "jax/a", code_cells(path))
    printed, compared, failed = PartFile(file.file).recording.entries
    assert (printed.cell, printed.outputs) == (3, [Text("2")])
    (shown,) = compared.outputs
    assert isinstance(shown, Compared)
    assert shown.json["baseline"] == "a"
    assert failed.error == "ZeroDivisionError: division by zero"
    # What is there stays, and the next run goes on with what is missing.
    file.recording.entries.remove(file.recording.entries[1])
    cells.record_notebook(file, "jax/a", code_cells(path))
    assert [entry.cell for entry in file.recording.entries] == [3, 6, 4]


def test_networks_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "CASES", [Case("mlp", 1)])
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.05")
    file = part(tmp_path, "networks-jax")
    networks.record(file)
    recording = PartFile(file.file).recording
    assert recording.complete
    (entry,) = recording.entries
    assert (entry.error, entry.process) == (None, 1)
    assert [row.label for row in entry.rows] == ["eager", "nnx.jit", "jit"]
    for row in entry.rows:
        assert row.seconds["latency"] > 0


def test_further_processes_measure_the_first_cases_again() -> None:
    def measured(*cases: Case) -> list[Any]:
        about = {"process": 1, "seconds": 1, "settings": {}}
        return [Measured(**asdict(case), **about) for case in cases]

    cases = networks.cases_of("pytorch")
    assert networks.missing(cases, 2, measured(cases[0])) == cases[1:]
    assert networks.missing(cases, 2, measured(*cases)) == networks.REPEATED
    assert networks.missing(cases, 2, measured(*cases, *networks.REPEATED)) == []
    assert not [
        case for case in networks.cases_of("jax") if (case.batch, case.task) == (1024, "training")
    ]

"""What our tools decide: which notebooks run where, what is kept, which mutants live."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import environments  # noqa: E402
import model_table as models  # noqa: E402
import mutation  # noqa: E402
import run_benchmarks  # noqa: E402
import run_notebooks  # noqa: E402


def test_every_notebook_runs_in_one_shard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[Path] = []

    def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        ran.extend(Path(part) for part in command if part.endswith(".ipynb"))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(run_notebooks, "mxnet_problem", lambda *machine: None)
    for which in (1, 2, 3):
        monkeypatch.setattr(sys, "argv", ["", "--framework", "mxnet", "--shard", f"{which}/3"])
        with pytest.raises(SystemExit, match="0"):
            run_notebooks.main()
    assert sorted(ran) == sorted((ROOT / "notebooks").glob("*/mxnet/*.ipynb"))
    assert capsys.readouterr().out.count("Left out by choice: ") == 3
    for wrong in ("0/5", "6/5", "5", "a/b"):
        monkeypatch.setattr(sys, "argv", ["", "--shard", wrong])
        with pytest.raises(SystemExit, match="2"):
            run_notebooks.main()


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_shards_are_about_equally_long(count: int) -> None:
    weights = {Path(f"{chapter:03}"): 10 + 30 * (chapter % 2) for chapter in range(120)}
    shards = run_notebooks.split(weights, count)
    loads = [sum(weights[path] for path in shard) for shard in shards]
    assert len(loads) == count
    assert max(loads) - min(loads) <= max(weights.values())


def test_a_benchmark_that_fails_is_kept_and_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.py").write_text("print('good 1.0 µs')\n")
    (tmp_path / "poor.py").write_text("print('poor 2.0 µs')\nraise SystemExit(3)\n")
    monkeypatch.setattr(run_benchmarks, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(run_benchmarks, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(run_benchmarks, "DOCTOR", (sys.executable, "-c", "print('a machine')"))
    monkeypatch.setattr(sys, "argv", ["", "poor", "good"])
    with pytest.raises(SystemExit, match="failed: poor"):
        run_benchmarks.main()
    kept = {
        path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "results").iterdir()
    }
    assert {"good", "poor", "machine"} == kept.keys()
    assert "a machine" in kept["machine"]
    assert "poor 2.0 µs" in kept["poor"]


RESULTS = """
    d2lhybrid.stats.x_iqr__mutmut_1: survived
    d2lhybrid.stats.x_iqr__mutmut_2: killed
    d2lhybrid.stats.x_iqr__mutmut_3: timeout
    d2lhybrid.report.text.x_table__mutmut_1: no tests
    d2lhybrid.report.text.x_table__mutmut_2: not checked
"""


def test_living_mutants_are_named_and_counted() -> None:
    report, enough = mutation.summary(RESULTS)
    assert report.splitlines() == [
        "d2lhybrid.stats.x_iqr__mutmut_1: survived",
        "d2lhybrid.report.text.x_table__mutmut_1: no tests",
        "d2lhybrid.report.text: 0 of 1 killed (0.0%)",
        "d2lhybrid.stats: 2 of 3 killed (66.7%)",
    ]
    assert not enough
    nine = "".join(f"p.m.x_f__mutmut_{n}: killed\n" for n in range(9))
    assert mutation.summary(nine + "p.m.x_f__mutmut_9: survived") == (
        "p.m.x_f__mutmut_9: survived\np.m: 9 of 10 killed (90.0%)",
        True,
    )
    assert not mutation.summary("")[1]


def test_an_environment_is_made_once_and_finds_what_it_stands_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    python = environments.environment(".venv-x", on_top=True)
    code = "import pytest, sys; print(sys.prefix)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / ".venv-x")
    (tmp_path / ".venv-x" / "kept").touch()
    assert environments.environment(".venv-x", on_top=True) == python
    assert (tmp_path / ".venv-x" / "kept").exists()


def test_the_page_of_the_models_shows_what_came() -> None:
    works = {"outcome": "works", "said": ""}
    row = dict.fromkeys(models.FUNCTIONS, works)
    said = "PyTorch 2.13 did not | a_b. Nothing was changed."
    found = {
        ("timm", "first"): row | {"save": {"outcome": "refused", "said": said}},
        ("timm", "second"): row | {"save": {"outcome": "refused", "said": said}},
        ("timm", "third"): row | {"load": {"outcome": "ended", "said": "status -11"}},
    }
    text = models.page(found, {"timm": "1.0"})
    assert "Of 3 models, `compare` works for 3;" in text
    assert "`save` works for 1 and refuses 2;" in text
    assert "| first | works | works | refused [^1] | works | works | works |" in text
    assert "| second | works | works | refused [^1] | works | works | works |" in text
    assert "| third | works | works | works | **ended** [^2] | works | works |" in text
    assert "\n[^1]: PyTorch 2.13 did not \\| a\\_b.\n[^2]: status -11\n" in text


def test_a_model_that_ends_its_process_is_a_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "KEPT", tmp_path)
    models.examine(sys.executable, "no library", "of this name", limit=100)
    found = json.loads(models.place("no library", "of this name").read_text("utf-8"))
    assert {one["outcome"] for one in found.values()} == {"ended"}
    assert found["save"]["said"] == "the process ended with status 1: KeyError: 'no library'"

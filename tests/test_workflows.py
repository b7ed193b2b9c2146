"""The forge runs what we run: its steps are our targets, its matrix is what is supported."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from book.frameworks import FRAMEWORKS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import lint_workflows  # noqa: E402
import setup_env  # noqa: E402

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
WORKFLOWS: dict[str, dict[Any, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
COMMAND = re.compile(
    rf"(conda run --no-capture-output --name {CONDA['name']} )?"
    r"make( --silent)?(?P<targets>( [a-z0-9-]+)+)( [A-Z]+=\S+)*"
    r'( >> "\$GITHUB_OUTPUT")?'
)


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]


def triggers(name: str) -> dict[str, Any]:
    return WORKFLOWS[name][True]  # YAML 1.1 reads the word `on` as true


def matrix(job: str) -> dict[str, Any]:
    return WORKFLOWS["tests"]["jobs"][job]["strategy"]["matrix"]


@pytest.mark.parametrize("name", TEXTS)
def test_every_step_is_a_target_that_runs_here(name: str) -> None:
    commands = [step["run"] for step in steps(name) if "run" in step]
    assert commands
    for command in commands:
        found = COMMAND.fullmatch(command)
        assert found, command
        assert set(found["targets"].split()) <= TARGETS


@pytest.mark.parametrize("name", TEXTS)
def test_actions_are_pinned_to_a_commit_and_say_which_version(name: str) -> None:
    used = re.findall(r"uses: (.*)", TEXTS[name])
    assert len(used) == sum("uses" in step for step in steps(name))
    assert not [line for line in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[0-9.]+", line)]


def test_an_action_has_one_version_everywhere() -> None:
    used = {line for text in TEXTS.values() for line in re.findall(r"uses: (.*)", text)}
    assert len(used) == len({line.partition("@")[0] for line in used})


def test_every_framework_and_python_is_in_the_matrix() -> None:
    notebooks = matrix("notebooks")
    (_, oldest), (_, newest) = setup_env.OLDEST, setup_env.NEWEST
    every = [f"3.{minor}" for minor in range(oldest, newest + 1)]
    assert notebooks["python"] == every
    assert notebooks["framework"] == sorted(FRAMEWORKS)
    without_mxnet = [
        python
        for python in every
        if setup_env.mxnet_problem((3, int(python[2:])), "Linux", "x86_64")
    ]
    left_out = [{"python": python, "framework": "mxnet"} for python in without_mxnet]
    assert notebooks["exclude"] == left_out
    assert matrix("unit")["python"] == [one for one in every if one not in without_mxnet]


def test_the_notebooks_are_spread_by_one_number() -> None:
    jobs = WORKFLOWS["tests"]["jobs"]
    assert jobs["shards"]["env"]["SHARDS"] >= 1
    assert matrix("notebooks")["shard"] == "${{ fromJSON(needs.shards.outputs.shards) }}"
    (run,) = (step for step in jobs["notebooks"]["steps"] if "run" in step)
    assert run["env"] == {
        "FRAMEWORK": "${{ matrix.framework }}",
        "SHARD": "${{ matrix.shard }}",
    }
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"$({name})" in makefile for name in (*run["env"], "SHARDS"))


def test_strangers_code_never_runs_on_the_gpu_machine() -> None:
    assert set(triggers("gpu")) == {"workflow_dispatch", "schedule"}
    assert WORKFLOWS["gpu"]["jobs"]["gpu"]["runs-on"] == ["self-hosted", "linux", "gpu"]


KEPT = {
    "gpu": ["build/executed", "build/benchmarks"],
    "tests": ["build/screenshots"],
    "audit": ["docs/audit.md"],
    "pages": ["build/html"],
    "release": ["dist", "dist"],  # from the job that builds to the one that publishes
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_run_hands_back(name: str) -> None:
    paths = [step["with"]["path"] for step in steps(name) if "path" in step.get("with", {})]
    assert " ".join(paths).split() == KEPT[name]


def test_the_audit_is_monthly() -> None:
    (when,) = triggers("audit")["schedule"]
    minute, hour, day, *rest = when["cron"].split()
    assert all(part.isdecimal() for part in (minute, hour, day))
    assert rest == ["*", "*"]


def test_the_linters_have_nothing_to_say() -> None:
    assert lint_workflows.problems(ROOT / ".github") == ""


# what is wrong: (text in tests.yml, what stands there instead, what a linter says)
SPOILED = {
    "a_key_that_is_none": ("    runs-on: ubuntu-24.04", "    run-on: ubuntu-24.04", "run-on"),
    "an_action_not_pinned": (
        "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
        "actions/checkout@v6",
        "unpinned-uses",
    ),
    "code_from_a_stranger": (
        "- run: make check",
        "- run: make check ARGS=${{ github.head_ref }}",
        "template-injection",
    ),
    "too_many_permissions": ("permissions: {}", "permissions: write-all", "excessive-permissions"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_the_linters_notice(case: str, tmp_path: Path) -> None:
    old, new, said = SPOILED[case]
    assert old in TEXTS["tests"]
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "tests.yml").write_text(TEXTS["tests"].replace(old, new))
    assert said in lint_workflows.problems(tmp_path)


def test_a_folder_without_workflows_is_noticed(tmp_path: Path) -> None:
    assert "found none" in lint_workflows.problems(tmp_path)

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

import setup_env  # noqa: E402

WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
COMMAND = re.compile(
    r"(conda run --no-capture-output --name d2lhybrid )?make ([a-z0-9-]+)"
    r"( PY=\S+| TAG=\"\$GITHUB_REF_NAME\")?"
)


def matrix(job: str) -> dict[str, Any]:
    return WORKFLOWS["tests"]["jobs"][job]["strategy"]["matrix"]


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_every_step_is_a_target_that_runs_here(name: str) -> None:
    jobs = WORKFLOWS[name]["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        found = COMMAND.fullmatch(command)
        assert found, command
        assert found[2] in TARGETS


def test_every_framework_and_python_is_in_the_matrix() -> None:
    notebooks = matrix("notebooks")
    (_, oldest), (_, newest) = setup_env.OLDEST, setup_env.NEWEST
    every = [f"3.{minor}" for minor in range(oldest, newest + 1)]
    assert notebooks["python"] == every
    assert notebooks["framework"] == list(FRAMEWORKS)
    assert matrix("unit")["python"] == every


def test_the_shards_are_the_whole() -> None:
    shards = matrix("notebooks")["shard"]
    assert shards == [f"{which}/{len(shards)}" for which in range(1, len(shards) + 1)]


def test_strangers_code_never_runs_on_the_gpu_machine() -> None:
    triggers = WORKFLOWS["gpu"][True]  # YAML 1.1 reads the word `on` as true
    assert set(triggers) == {"workflow_dispatch", "schedule"}

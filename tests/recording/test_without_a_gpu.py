"""``make record`` on a machine whose frameworks see no GPU."""

from pathlib import Path

from processes import python


def test_nothing_is_recorded_and_each_framework_is_named(tmp_path: Path) -> None:
    command = ("-m", "recording", "run", "--parts", "checks", "--to", str(tmp_path / "recorded"))
    done = python(*command, status=1, CUDA_VISIBLE_DEVICES="")
    assert "pytorch sees no GPU" in done.stdout
    assert "jax sees no GPU" in done.stdout
    assert "Nothing was recorded." in done.stdout
    assert not [*tmp_path.glob("recorded/*.json")]

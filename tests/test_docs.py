"""The examples of the docs run: docstrings as doctests, README's code as it stands."""

import doctest
import re
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import d2lhybrid
from d2lhybrid import import_mxnet, set_language

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "d2lhybrid"
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
WITHOUT_EXAMPLES = {"__version__", "load_ipython_extension"}  # a number; what IPython calls
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "benchmarks", "translations")
    for path in (ROOT / folder).glob("*.md")
)
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some examples save a model
    monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path / "data"))
    found = doctest.testmod(import_module(module))
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("name", sorted(set(d2lhybrid.__all__) - WITHOUT_EXAMPLES))
def test_every_public_name_has_an_example(name: str) -> None:
    text = getattr(d2lhybrid, name).__doc__
    assert doctest.DocTestParser().get_examples(text)


def test_readme_examples(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path / "data"))
    mx = import_mxnet()
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2))
    net.initialize()
    x = mx.nd.ones((1, 3))
    set_language("en")
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MXNet warns of itself
        for block in blocks:
            exec(block, {"net": net, "x": x, "x_numpy": x.asnumpy()})
    printed = capsys.readouterr().out
    assert re.match(r"Without hybridization: \d+\.\d{4} sec\n", printed)
    heads = [re.search(r"^variant +(\w+) +(\w+)", text, re.M) for text in (README, printed)]
    assert all(heads)
    assert heads[0].groups() == heads[1].groups()


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_only_what_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^(`{3,}).*?^\1`*$|(`+).+?\2", "", text, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", prose)
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert not missing
    targets = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
    if page == "README.md":
        assert links
        assert {"lab", "test"} <= targets

"""The docs: examples in docstrings run, and pages name only what exists."""

import doctest
import re
from importlib import import_module

import pytest
from processes import ROOT

import d2lhybrid

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "d2lhybrid").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "benchmarks", "translations")
    for path in (ROOT / folder).glob("*.md")
)

SHOWN_BY_THEIR_VERB = {
    *("Explanation", "Graph", "Inspection", "Judgement", "LoadedModel", "Reason", "Variants"),
    *("Diagnosis", "Reasons", "Verification", "errors"),
}


class Checker(doctest.OutputChecker):
    """A busy machine may leave a verdict undecided, if it gives no other."""

    def check_output(self, want, got, optionflags):
        undecided = (want, got) == ("'faster'\n", "'undecided'\n")
        return undecided or super().check_output(want, got, optionflags)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module, tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.5")
    monkeypatch.chdir(tmp_path)  # some examples save a model
    for examples in doctest.DocTestFinder().find(import_module(module)):
        assert not doctest.DocTestRunner(Checker()).run(examples).failed


@pytest.mark.parametrize("name", sorted(set(d2lhybrid.__all__) - SHOWN_BY_THEIR_VERB))
def test_every_verb_has_an_example(name):
    assert doctest.DocTestParser().get_examples(getattr(d2lhybrid, name).__doc__)


def test_one_page_has_every_public_name():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert not [name for name in d2lhybrid.__all__ if not re.search(rf"`{name}\b", page)]


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_only_what_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^(`{3,}).*?^\1`*$|(`+).+?\2", "", text, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"(?<!\\)\]\((?!https?://|#)([^)#]+)", prose)
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    targets = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)]

"""The reader's language: how it is found, and what it does to texts and numbers.

What the catalogs say is looked at by `python -m book check`.
"""

import pytest

from d2lhybrid.core import i18n
from d2lhybrid.errors import ArgumentError
from d2lhybrid.teaching import pad


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch):
    """No language but that of the test."""
    for name in ("D2LHYBRID_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    i18n.set_language(None)
    yield
    i18n.set_language(None)


def test_the_language_follows_the_environment(monkeypatch):
    for expected, env in (
        ("en", {}),
        ("en", {"LANG": "fr_FR.UTF-8"}),
        ("zh", {"LC_ALL": "zh_CN.UTF-8", "LANG": "en_US"}),
        ("zh", {"D2LHYBRID_LANGUAGE": "xx"}),  # unknown
        ("ja", {"D2LHYBRID_LANGUAGE": "ja_JP.UTF-8"}),
    ):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert i18n.language() == expected
    i18n.set_language("pt-BR")
    assert i18n.language() == "pt"
    for unknown in ("fr", "", 1):
        with pytest.raises(
            ArgumentError, match=r"Era esperado um destes idiomas: en, pt, zh, ja\. "
        ):
            i18n.set_language(unknown)
    assert i18n.language() == "pt"


def test_numbers_and_widths():
    assert (i18n.number(1234.5, 5), i18n.number(float("inf"))) == ("1,234.5", "∞")
    i18n.set_language("pt")
    shown = i18n.number(1234.5, 5), i18n.general(2.5e-7), i18n.count(28566)
    assert shown == ("1.234,5", "2,5e-07", "28.566")
    assert [pad("ab", 4), pad("即时", 5)] == ["ab  ", "即时 "]

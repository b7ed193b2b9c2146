"""The reader's language, through the gettext catalogs in ``d2lhybrid/locale``.

A change of language is a change of catalog: nothing else in the package knows one from another.
"""

import gettext as stdlib
import os
from pathlib import Path

from d2lhybrid.errors import LanguageError

LANGUAGES = ("en", "pt", "zh", "ja")
_LOCALE = Path(__file__).with_name("locale")
_DECIMAL_COMMA = ("pt",)

_chosen: str | None = None
_catalogs: dict[str, stdlib.NullTranslations] = {}


def set_language(language: str | None) -> None:
    """Choose 'en', 'pt', 'zh' or 'ja' for tables, sentences and plots; None goes by the locale.

    Raises:
        LanguageError: there is no catalog for it.

    >>> set_language("ja")
    >>> gettext("variant")
    'バリアント'
    >>> set_language(None)
    """
    global _chosen
    if language is None:
        _chosen = None
        return
    found = _supported(language)
    if found is None:
        raise LanguageError(f"Expected one of {', '.join(LANGUAGES)}. Received: {language!r}.")
    _chosen = found


def language() -> str:
    """The language in use: chosen, else that of D2LHYBRID_LANGUAGE, else that of the locale."""
    if _chosen:
        return _chosen
    ours = os.environ.get("D2LHYBRID_LANGUAGE", "")
    if ours:
        found = _supported(ours)
        if found is None:
            raise LanguageError(
                f"Expected one of {', '.join(LANGUAGES)} in D2LHYBRID_LANGUAGE. Received: {ours!r}."
            )
        return found
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name):
            return _supported(os.environ[name]) or "en"
    return "en"


def gettext(message: str) -> str:
    """The message in the language in use; the message itself where the catalog has none."""
    return _catalog().gettext(message)


def ngettext(one: str, many: str, count: int) -> str:
    """The message that fits `count` in the language in use."""
    return _catalog().ngettext(one, many, count)


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, with the decimal sign of the language.

    >>> number(1234.5), number(0.012345)
    ('1,230', '0.0123')
    """
    rounded = float(f"{value:.{digits}g}")
    exponent = int(f"{rounded:e}".partition("e")[2])
    return _signs(f"{rounded:,.{max(0, digits - 1 - exponent)}f}")


def count(value: float) -> str:
    """A whole number with all its digits; any other with four.

    >>> count(28566), count(0.5)
    ('28,566', '0.5000')
    """
    return _signs(f"{value:,.0f}") if value == int(value) else number(value, 4)


def _signs(text: str) -> str:
    if language() in _DECIMAL_COMMA:
        return text.translate({ord(","): ".", ord("."): ","})
    return text


def _supported(name: str) -> str | None:
    short = name.replace("_", "-").partition(".")[0].partition("-")[0].lower()
    return short if short in LANGUAGES else None


def _catalog() -> stdlib.NullTranslations:
    name = language()
    if name not in _catalogs:
        _catalogs[name] = stdlib.translation("d2lhybrid", _LOCALE, [name], fallback=name == "en")
    return _catalogs[name]

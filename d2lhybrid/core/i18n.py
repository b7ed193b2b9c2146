"""The reader's language: gettext catalogs in ``d2lhybrid/locale``, and how numbers are written.

Nothing else in the package depends on the language. A message that a catalog lacks stays English.
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from gettext import NullTranslations, translation
from math import isfinite
from pathlib import Path

from d2lhybrid.core.errors import ArgumentError

LANGUAGES = ("en", "pt", "zh", "ja")
_DECIMAL_COMMA = ("pt",)

_chosen: str | None = None


def noop(message: str) -> str:
    """The message itself: marks for translators what goes through `gettext` only when shown."""
    return message


def set_language(language: str | None) -> None:
    """Choose 'en', 'pt', 'zh' or 'ja' for everything that d2lhybrid says; None uses the locale.

    Raises:
        ArgumentError: there is no catalog for it.

    >>> set_language("ja")
    >>> gettext("variant")
    'バリアント'
    >>> set_language(None)
    """
    global _chosen
    chosen = None if language is None else _supported(str(language))
    if language is not None and not chosen:
        text = gettext("Expected one of {languages}. Received: {received!r}.")
        raise ArgumentError(text.format(languages=", ".join(LANGUAGES), received=language))
    _chosen = chosen


def language() -> str:
    """The language in use: chosen, else that of D2LHYBRID_LANGUAGE, else that of the locale."""
    if _chosen:
        return _chosen
    ours = _supported(os.environ.get("D2LHYBRID_LANGUAGE", ""))
    if ours:
        return ours
    settings = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    first_setting = next(filter(None, settings), "")
    return _supported(first_setting) or "en"


def gettext(message: str) -> str:
    """The message in the language in use; the message itself where the catalog has none."""
    # That of "" is the catalog's header.
    return _catalog(language()).gettext(message) if message else ""


def ngettext(one: str, many: str, count: int) -> str:
    """The message that fits `count` in the language in use."""
    return _catalog(language()).ngettext(one, many, count)


def pgettext(context: str, message: str) -> str:
    """The message where one English text has two meanings; `context` tells them apart."""
    return _catalog(language()).pgettext(context, message)


def sentences(*parts: str) -> str:
    """Sentences one after the other; empty ones are left out.

    >>> sentences("One.", "", "Two."), sentences("一。", "二。")
    ('One. Two.', '一。二。')
    """
    return " ".join(filter(None, parts)).replace("。 ", "。")


def listed(items: Iterable[str]) -> str:
    """Items one after the other, such as the problems that were found.

    >>> listed(["one is missing", "two differs"])
    'one is missing; two differs'
    """
    # Translators: between the items of a list
    return gettext("; ").join(items)


def names(items: Iterable[str]) -> str:
    """Names inside a sentence, such as those of variants.

    >>> names(["eager", "torch.compile"])
    'eager, torch.compile'
    """
    # Translators: between names inside a sentence
    return gettext(", ").join(items)


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, with the decimal sign of the language.

    >>> number(1234.5), number(0.012345)
    ('1,230', '0.0123')
    """
    if not isfinite(value):  # an interval of fewer than six rounds has no end
        return f"{value:g}".replace("inf", "∞")
    rounded = float(f"{value:.{digits}g}")
    exponent = int(f"{rounded:e}".partition("e")[2])
    return _signs(f"{rounded:,.{max(0, digits - 1 - exponent)}f}")


def count(value: float) -> str:
    """A whole number with all its digits; any other with four.

    >>> count(28566), count(0.5)
    ('28,566', '0.5000')
    """
    return _signs(f"{value:,.0f}") if value == int(value) else number(value, 4)


def general(value: complex, digits: int = 3) -> str:
    """A number of any size in so many significant digits, with an exponent from a million on.

    >>> general(0.5), general(1.23456e-7), general(1234.5), general(1.23456e7)
    ('0.5', '1.23e-07', '1230', '1.23e+07')
    """
    as_number = complex if isinstance(value, complex) else float
    rounded = as_number(f"{value:.{digits}g}")
    return _signs(f"{rounded:.{max(digits, 6)}g}")


def localized(text: str) -> str:
    """A number that is written as in Python, with the signs of the language; another text as it is.

    >>> localized("1,160.25"), localized("12 → 2")
    ('1,160.25', '12 → 2')
    """
    return _signs(text) if re.fullmatch(r"-?\d[\d,]*(\.\d+)?", text) else text


def width(text: str) -> int:
    """Columns in a terminal: a Chinese or Japanese character takes two.

    >>> width("eager"), width("即时")
    (5, 4)
    """
    from wcwidth import wcswidth  # its tables take 25 ms to load

    columns = wcswidth(text)
    return columns if columns >= 0 else len(text)  # it doesn't measure control characters


def pad(text: str, columns: int) -> str:
    """The text with spaces behind it, so many columns wide."""
    return text + " " * (columns - width(text))


def _signs(text: str) -> str:
    """A number with the decimal sign and the thousands separator of the language."""
    return text.translate(str.maketrans(",.", ".,")) if language() in _DECIMAL_COMMA else text


def _supported(name: str) -> str | None:
    """The language of a name such as "pt_BR.UTF-8", if there is a catalog for it."""
    short = name.replace("_", "-").partition(".")[0].partition("-")[0].lower()
    return short if short in LANGUAGES else None


@cache
def _catalog(name: str) -> NullTranslations:
    return translation("d2lhybrid", Path(__file__).parents[1] / "locale", [name], fallback=True)

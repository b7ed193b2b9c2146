"""Stage 4: Sphinx's configuration for one language; its conf.py takes all names from here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from book.languages import LANGUAGES
from website.words import words

_HERE = Path(__file__).parent
# Foreground and background that stay readable: contrast of 4.5 and more, also for links in code.
_LIGHT = {"color-brand-primary": "#0b5a9d", "color-brand-content": "#0b5a9d"}
_DARK = {"color-brand-primary": "#7cb8f2", "color-brand-content": "#7cb8f2"}

_EXTENSIONS = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "website.extension"]
_SIDEBAR = ("brand", "search", "scroll-start", "navigation", "reference", "scroll-end")


def settings(language: str, languages: Sequence[str], repository: str, conf: str) -> dict[str, Any]:
    """The configuration of a language's pages.

    ``languages`` are all that the site has, ``repository`` is the public address or empty, and
    ``conf`` is the path of the conf.py that asks.
    """
    say = words(language)
    return {
        "project": say["site"],
        "html_title": say["site"],
        "language": LANGUAGES[language].gettext_name,
        "locale_dirs": [str(Path(conf).parent / "locale")],
        "extensions": _EXTENSIONS,
        "site_language": language,
        "site_languages": list(languages),
        "site_repository": repository,
        "exclude_patterns": ["locale"],
        "default_role": "code",  # `name` in a docstring
        "nb_execution_mode": "off",
        # What an undecided claim shows to programs; it has a text and HTML beside it.
        "suppress_warnings": ["mystnb.unknown_mime_type"],
        "nb_code_prompt_show": say["show_code"],
        "nb_code_prompt_hide": say["hide_code"],
        "myst_enable_extensions": ["dollarmath"],
        "myst_url_schemes": ["http", "https", "mailto", "site"],
        "highlight_language": "none",  # of a fence that names no language
        "autodoc_typehints": "none",
        "autodoc_preserve_defaults": True,
        "autodoc_member_order": "bysource",
        "python_use_unqualified_type_names": True,
        "html_theme": "furo",
        "html_theme_options": {"light_css_variables": _LIGHT, "dark_css_variables": _DARK},
        "pygments_style": "a11y-high-contrast-light",
        "pygments_dark_style": "a11y-high-contrast-dark",
        "templates_path": [str(_HERE / "templates")],
        "html_static_path": [str(_HERE / "static")],
        "html_favicon": str(_HERE / "static" / "favicon.svg"),
        "html_css_files": ["site.css"],
        "html_js_files": [("site.js", {"defer": "defer"})],
        "html_sidebars": {"**": [f"sidebar/{name}.html" for name in _SIDEBAR]},
        "html_search_scorer": str(_HERE / "scorer.js"),
        "html_math_renderer": "mathml",
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "html_show_sphinx": False,
        "html_use_index": False,
        "html_domain_indices": False,
    }

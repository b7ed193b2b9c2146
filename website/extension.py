"""Stage 4: what Sphinx learns here."""

from typing import Any

from sphinx.application import Sphinx

from website import mathml, search, switch, transforms


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything; Sphinx calls this."""
    app.add_config_value("site_language", "en", "env", str)
    app.add_config_value("site_languages", [], "html", list)
    app.add_config_value("site_repository", "", "html", str)
    for module in (transforms, switch, search, mathml):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The format that a manifest, or the reader, names."""

from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.formats import Format
from d2lhybrid.core.errors import UnsupportedArtifactError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import write_nearest


def format_of(framework: Framework, name: str) -> Format:
    """The format of a framework that is called `name`, as manifests call it.

    Raises:
        ArgumentError, UnsupportedArtifactError: The framework has no format, or no such format.
    """
    formats = framework.formats
    if not formats:
        raise framework.lacks("save")
    if name not in formats:
        text = _("Expected one of the formats of {framework}: {formats}. Received: {received!r}.")
        text += write_nearest(name, formats)
        fields = {"framework": framework.display, "received": name}
        raise UnsupportedArtifactError(text, formats=", ".join(map(repr, formats)), **fields)
    return formats[name]

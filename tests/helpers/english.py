"""What tests of texts and pictures share: English, and matplotlib without a window."""

import matplotlib.pyplot
import pytest

from d2lhybrid.core import i18n

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def english():
    i18n.set_language("en")
    yield
    i18n.set_language(None)
    matplotlib.pyplot.close("all")

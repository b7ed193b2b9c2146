"""Which code is the user's."""

import site
from pathlib import Path

import pytest

from d2lhybrid.core.user_code import is_users


@pytest.mark.parametrize("folder", [site.getusersitepackages(), *site.getsitepackages()])
def test_what_is_installed_is_a_library(folder):
    assert not is_users(str(Path(folder, "package", "module.py")))

"""Where and when: what is known of a machine."""

import os
import platform
from unittest.mock import Mock

from d2lhybrid.measuring import provenance
from d2lhybrid.measuring.provenance import environment


def test_a_machine_that_is_no_linux(monkeypatch):
    monkeypatch.setattr(provenance.Path, "read_text", Mock(side_effect=FileNotFoundError))
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    for name in ("sched_getaffinity", "getloadavg"):
        monkeypatch.delattr(os, name)
    found = environment()
    assert (found.cpu, found.cores, found.load) == ("arm64", os.cpu_count(), None)

"""Every test has its own signing key; what is costly to start is shared by the whole session."""

import contextlib
import os

import pytest

from d2lhybrid.artifacts import proof


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    """A user with a data folder of their own; calling it changes to another user."""
    session = tmp_path_factory.getbasetemp()
    shared = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    monkeypatch.setenv("D2LHYBRID_CACHE", str(shared / "cache"))

    def become(name="me"):
        monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path_factory.getbasetemp() / f"user-{name}"))

    become()
    return become


@pytest.fixture(scope="session")
def provers():
    """The processes that prove what is saved, one for each framework."""
    made = {}
    yield made
    for prover in made.values():
        prover.close()


@pytest.fixture
def fresh_process():
    """For a test whose saves must start a process each, as they do for a user."""


@pytest.fixture(autouse=True)
def one_process_proves_all(provers, monkeypatch, request):
    """Starting a process and importing a framework for each save would take an hour."""
    if "fresh_process" not in request.fixturenames:
        proving_with(provers, monkeypatch)


def proving_with(provers, monkeypatch):
    """Prove with processes that are kept, in place of a fresh one for each save."""

    @contextlib.contextmanager
    def shared(framework):
        prover = provers.get(framework)
        if prover is None or prover.process.poll() is not None:
            prover = provers[framework] = proof.Prover(framework)
        yield prover

    monkeypatch.setattr(proof, "fresh", shared)

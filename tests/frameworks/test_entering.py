"""What entering compiled code costs, as PyTorch's own profiler tells."""

from statistics import median
from time import perf_counter

import pytest

torch = pytest.importorskip("torch")

from d2lhybrid.frameworks.torch import entering  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, of its own TorchScript


def seconds_of(run):
    times = []
    for _call in range(200):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return median(times)


def test_entering_is_a_part_of_a_compiled_call_and_no_part_of_an_eager_one():
    x = torch.rand(2**20)  # the profiler's own time may be more than all of a short call

    @torch.compile
    def compiled(x):
        return torch.sin(x) + 1

    compiled(x)
    took = entering.entering_seconds(lambda: compiled(x))
    assert 0 < took < seconds_of(lambda: compiled(x))
    assert entering.entering_seconds(lambda: torch.sin(x) + 1) is None


def test_entering_does_not_grow_with_the_work_of_the_program():
    small, large = torch.rand(8), torch.rand(2**22)

    @torch.compile(dynamic=True)
    def compiled(x):
        return torch.sin(x) + 1

    compiled(small)
    compiled(large)
    of_small = entering.entering_seconds(lambda: compiled(small))
    of_large = entering.entering_seconds(lambda: compiled(large))
    assert of_large < seconds_of(lambda: compiled(large)) / 2
    assert of_small < 10 * of_large

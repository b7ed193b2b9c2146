"""Small models of PyTorch, one for each structure that a real one takes or returns."""

import dataclasses
from collections import OrderedDict
from typing import NamedTuple

import torch
from torch import nn

from d2lhybrid.core.arguments import call


@dataclasses.dataclass
class Answer:
    """As a library returns it, with a part that is not always there."""

    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...] = ()
    loss: torch.Tensor | None = None


class ModelOutput(OrderedDict):
    """A dictionary that also has attributes, as that of transformers."""

    def __init__(self, logits=None, pooled=None):
        super().__init__(logits=logits, pooled=pooled)

    def __getattr__(self, name):
        return self[name]


class Pair(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor


class Cache:
    """What a generating model hands back: an object that holds tensors."""

    def __init__(self, keys):
        self.keys = [keys, keys * 2]
        self.length = 3


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x):
        return self.lin(x)

    def halved(self, x):
        return self.lin(x) / 2


class TakesDict(Plain):
    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.lin(batch["x"]) * batch["scale"]


class TakesList(Plain):
    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        return self.lin(parts[0] + parts[1])


class TakesKeywords(nn.Module):
    """As a language model: indices, and a mask by keyword behind something left out."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, ids, past=None, mask=None, scale: float = 1.0):
        found = self.table(ids) * scale
        return found if mask is None else found * mask[..., None]


class ReturnsAnswer(Plain):
    def forward(self, x):
        return Answer(self.lin(x), (x * 2, x + 1))


class ReturnsModelOutput(Plain):
    def forward(self, x):
        return ModelOutput(logits=self.lin(x), pooled=x.mean(1))


class ReturnsPair(Plain):
    def forward(self, x):
        return Pair(self.lin(x), x.std())


class ReturnsCache(Plain):
    def forward(self, x):
        return self.lin(x), Cache(x)


class ReturnsDict(Plain):
    def forward(self, x) -> dict[str, torch.Tensor]:
        return {"logits": self.lin(x), "features": x * 2}


class Tiny(Plain):
    """Outputs so small that an absolute tolerance would accept anything."""

    def forward(self, x):
        return self.lin(x) * 1e-12


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x, state: tuple[torch.Tensor, torch.Tensor]):
        return self.lstm(x, state)


def models():
    """Name of each, with the call that is saved."""
    torch.manual_seed(0)
    x, ids = torch.randn(2, 4), torch.tensor([[1, 2, 3], [4, 5, 6]])
    states = (torch.zeros(1, 2, 3), torch.ones(1, 2, 3))
    made = {
        "plain": call(Plain(), x),
        "dict in": call(TakesDict(), {"x": x, "scale": torch.tensor(2.0)}),
        "list in": call(TakesList(), [x, x * 2]),
        "keyword": call(TakesKeywords(), ids, mask=torch.ones(2, 3)),
        "None and number": call(TakesKeywords(), ids, None, torch.ones(2, 3), scale=0.5),
        "dict out": call(ReturnsDict(), x),
        "dataclass out": call(ReturnsAnswer(), x),
        "output class": call(ReturnsModelOutput(), x),
        "named tuple out": call(ReturnsPair(), x),
        "cache out": call(ReturnsCache(), x),
        "tiny": call(Tiny(), x),
        "lstm with state": call(Recurrent(), torch.randn(2, 5, 4), states),
    }
    method, net = Plain().eval(), Plain().eval()
    return {
        **{name: call(c.function.eval(), *c.args, **c.kwargs) for name, c in made.items()},
        "method": call(method.halved, x),
        "lambda": call(lambda x: net(x) + 1, x),
    }

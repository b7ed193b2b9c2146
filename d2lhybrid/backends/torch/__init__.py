"""PyTorch.

Besides the modules that ``backends.protocol`` describes:

- ``modules``: what a module is made of, what of it is compiled, and copies of it,
- ``stages``: a graph that TorchDynamo recorded, through AOTAutograd and Inductor,
- ``export``: programs of ``torch.export`` and the files made of them, which ``formats`` saves and
  ``ahead`` runs as variants,
- ``dynamo``, ``inductor``, ``nodes`` and ``private``: what PyTorch never promised, each behind a
  small function: of TorchDynamo's records, of Inductor, of the nodes of graphs, and of the rest.
"""

from typing import TYPE_CHECKING

from d2lhybrid.backends.base import Framework

FRAMEWORK = Framework(
    name="torch",
    display="PyTorch",
    folder=__name__,
    order=1,
    cache_variables={
        "TORCHINDUCTOR_CACHE_DIR": "torch/inductor",
        "TRITON_CACHE_DIR": "torch/triton",
        "PYTORCH_KERNEL_CACHE_PATH": "torch/kernels",  # of operations on CUDA
    },
    converter_code="torch.as_tensor",
    busy_bound=1.6,
)

if TYPE_CHECKING:
    from d2lhybrid.backends.protocol import Modules
    from d2lhybrid.backends.torch import (
        compiler,
        device,
        explain,
        formats,
        models,
        training,
        variants,
        why,
    )

    _MODULES: Modules = (device, models, variants, compiler, training, explain, formats, why)

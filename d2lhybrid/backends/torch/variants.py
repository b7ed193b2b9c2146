"""The ways to run a model that PyTorch offers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from d2lhybrid.backends.call_code import passed, positional, variable
from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.torch import ahead, export, private
from d2lhybrid.backends.torch.compiler import INDUCTOR, compiled, no_inductor
from d2lhybrid.backends.torch.models import without_gradients
from d2lhybrid.backends.torch.modules import clone_sharing_parameters, eager
from d2lhybrid.backends.variant import DeferredBuild, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.toolchain import why_not_installed

_SCRIPT = "fast = torch.jit.script(net)"
_FROZEN = """frozen = torch.jit.freeze(torch.jit.script(net))
fast = torch.jit.optimize_for_inference(frozen)"""


def variants(
    net: Any, args: Args, kwargs: Kwargs, include_expert: bool, compiler_options: Kwargs
) -> VariantsByName:
    """Each way by its name: most are built at their first call, some give a reason why they cannot.

    They run a copy of the model that shares its parameters, because TorchScript leaves attributes
    on what it compiles. All but "eager, with gradients" run without gradients: a way that records
    none does not compete with one that does.
    """
    require_options("torch.compile", compiler_options, ("dynamic", "backend", "mode"))
    private.start_dynamo()
    names = positional(net, args, kwargs)
    arguments = passed(names, kwargs)
    run = f"with torch.no_grad():\n    y = fast({arguments})"
    plain = f"with torch.no_grad():\n    y = net({arguments})"
    net = clone_sharing_parameters(eager(net))
    unfit = _why_not_ahead(net)
    by_name = {
        "eager": Variant(without_gradients(net), plain),
        **_torchscript(net, unfit, run),
        "torch.compile": _compiled(net, run, compiler_options),
    }
    if not compiler_options.keys() & {"backend", "mode"}:  # unless the user has chosen
        by_name["torch.compile reduce-overhead"] = _reduce_overhead(net, run, compiler_options)
    package = no_inductor() or export.no_packages() or ahead.aotinductor(net, args, kwargs)
    example = _example(names, kwargs)
    by_name["aotinductor"] = Variant(unfit or package, _package_code(example, arguments))
    if isinstance(net, nn.Module):
        lacking = why_not_installed(("onnxruntime", "onnxscript"), "onnx")
        session = unfit or lacking or ahead.onnxruntime(net, args, kwargs)
        values = [*args, *kwargs.values()]
        given = zip([*names, *map(variable, kwargs)], values, strict=True)
        tensors = [name for name, value in given if isinstance(value, torch.Tensor)]
        all_tensors = [leaf for _path, leaf in leaves(values) if isinstance(leaf, torch.Tensor)]
        is_flat = len(all_tensors) == len(tensors)  # what is nested, the code could not name
        code = _onnx_code(example, tensors) if is_flat else ""
        by_name["onnxruntime"] = Variant(session, code, role="runtime")
    if include_expert:
        dynamic = {name: value for name, value in compiler_options.items() if name == "dynamic"}
        by_name |= {
            "torch.compile max-autotune": _compiled(net, run, dynamic | {"mode": "max-autotune"}),
            "eager, with gradients": Variant(net, f"y = net({arguments})"),
        }
    return by_name


def _example(names: Sequence[str], kwargs: Kwargs) -> str:
    """The arguments of a call as code, as torch's exporters take them."""
    by_position = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    by_name = ", ".join(f'"{name}": {variable(name)}' for name in kwargs)
    return f"{by_position}, kwargs={{{by_name}}}" if kwargs else by_position


def _package_code(example: str, arguments: str) -> str:
    return f"""program = torch.export.export(net, {example})
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
y = fast({arguments})"""


def _onnx_code(example: str, tensors: Sequence[str]) -> str:
    return f"""import onnxruntime

torch.onnx.export(net, {example}, dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
names = [given.name for given in session.get_inputs()]
arrays = [tensor.numpy() for tensor in [{", ".join(tensors)}]]
y, *others = map(torch.from_numpy, session.run(None, dict(zip(names, arrays))))"""


def _why_not_ahead(net: Any) -> str:
    """Why a model cannot be compiled ahead of time; empty if it can."""
    if not isinstance(net, nn.Module):
        return N_("it compiles modules, and this is a function")
    if net.training:
        return N_("the model is in training mode; compiling ahead of time needs net.eval()")
    return ""


def _torchscript(net: Any, unfit: str, run: str) -> VariantsByName:
    """TorchScript as it is, and frozen.

    Each compiles a copy of its own: what it leaves on one would hide what is wrong with the next.
    """

    def script() -> Any:
        return private.scripted(clone_sharing_parameters(net))

    def frozen() -> Any:
        return torch.jit.optimize_for_inference(torch.jit.freeze(script()))

    plain = DeferredBuild(lambda: without_gradients(script()))
    optimized = DeferredBuild(lambda: without_gradients(frozen()))
    return {
        "torchscript": Variant(plain, f"{_SCRIPT}\n{run}", role="deprecated"),
        "torchscript frozen": Variant(unfit or optimized, f"{_FROZEN}\n{run}", role="deprecated"),
    }


def _reduce_overhead(net: Any, run: str, options: Kwargs) -> Variant:
    """torch.compile with CUDA graphs."""
    way = _compiled(net, run, options | {"mode": "reduce-overhead"})
    if torch.cuda.is_available():
        return way
    return replace(way, run=N_("it needs CUDA graphs, and there is no CUDA device"))


def _compiled(net: Function, run: str, options: Kwargs) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""

    def build() -> Function:
        return without_gradients(compiled(net, **options))

    given = "".join(f", {name}={value!r}" for name, value in options.items())
    code = f"fast = torch.compile(net{given})\n{run}"
    if options.get("backend", "inductor") != "inductor":
        return Variant(DeferredBuild(build), code)
    return Variant(no_inductor() or DeferredBuild(build, compiler=INDUCTOR), code)

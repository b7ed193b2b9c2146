"""The ways to run a model that PyTorch offers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.copies import copied
from d2lhybrid.backends.layers import Layer, chain
from d2lhybrid.backends.mlp import functions
from d2lhybrid.backends.torch import ahead, export, private
from d2lhybrid.backends.torch.compiler import INDUCTOR, compiled
from d2lhybrid.backends.torch.export import eager, no_inductor
from d2lhybrid.backends.variant import (
    NOTHING_COMPILED,
    DeferredBuild,
    Variant,
    VariantsByName,
    WithCompilerNote,
)
from d2lhybrid.backends.written import passed, positional
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.i18n import noop as N_

_ACTIVATIONS = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh"}
_RUN = "with torch.no_grad():\n    y = fast({passed})"
_SCRIPT = f"fast = torch.jit.script(net)\n{_RUN}"
_FROZEN = f"""frozen = torch.jit.freeze(torch.jit.script(net))
fast = torch.jit.optimize_for_inference(frozen)
{_RUN}"""
_PACKAGE = """program = torch.export.export(net, {example})
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
"""
_ONNX_SESSION = """import onnxruntime

torch.onnx.export(net, {onnx_example}, dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
"""
_ONNX = f"""{_ONNX_SESSION}[x_name] = [given.name for given in session.get_inputs()]
[y] = session.run(None, {{{{x_name: {{tensors}}.numpy()}}}})
y = torch.from_numpy(y)"""
_ONNX_OF_SEVERAL = f"""{_ONNX_SESSION}names = [given.name for given in session.get_inputs()]
arrays = [tensor.numpy() for tensor in ({{tensors}})]
[y] = session.run(None, dict(zip(names, arrays)))
y = torch.from_numpy(y)"""


def variants(
    net: Any, args: Args, kwargs: Kwargs, include_expert: bool, options: Kwargs
) -> VariantsByName:
    """Each way by its name: most are built at their first call, some give a reason why they cannot.

    They run a copy of the model that shares its parameters, because TorchScript leaves attributes
    on what it compiles. All but "eager, with gradients" run without gradients: a way that records
    none does not compete with one that does.
    """
    require_options("torch.compile", options, ("dynamic", "backend", "mode"))
    private.start_dynamo()
    written = _written(net, args, kwargs)
    net = _clone_sharing_parameters(eager(net))
    unfit = _why_not_ahead(net)
    ways = {
        "eager": _eager(net, len(args) + len(kwargs)),
        **_torchscript(net, unfit),
        "torch.compile": _compiled(net, **options),
    }
    if not options.keys() & {"backend", "mode"}:  # unless the user has chosen
        ways["torch.compile reduce-overhead"] = _reduce_overhead(net, options)
    package = no_inductor() or export.no_packages() or ahead.aotinductor(net, args, kwargs)
    ways["aotinductor"] = Variant(unfit or package, _PACKAGE + "y = fast({passed})")
    session = unfit or ahead.no_onnxruntime() or ahead.onnxruntime(net, args, kwargs)
    if isinstance(net, nn.Module):
        onnx = _ONNX_OF_SEVERAL if "," in written["tensors"] else _ONNX
        ways["onnxruntime"] = Variant(session, onnx, role="runtime")
    if not include_expert:
        return _filled(ways, written)
    dynamic = {name: value for name, value in options.items() if name == "dynamic"}
    ways |= {
        "torch.compile max-autotune": _compiled(net, **dynamic, mode="max-autotune"),
        **_functions(net, dynamic),
        "eager, with gradients": Variant(net, "y = net({passed})"),
    }
    return _filled(ways, written)


def _written(net: Any, args: Args, kwargs: Kwargs) -> dict[str, str]:
    """The arguments of a call as code, for each way to pass them."""
    names = positional(net, args, kwargs)
    by_position = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    by_name = "{" + ", ".join(f'"{name}": {name}' for name in kwargs) + "}" if kwargs else ""
    values = zip([*names, *kwargs], [*args, *kwargs.values()], strict=True)
    return {
        "passed": passed(names, kwargs),
        "example": f"{by_position}, {by_name}" if kwargs else by_position,
        "onnx_example": f"{by_position}, kwargs={by_name}" if kwargs else by_position,
        "tensors": ", ".join(name for name, value in values if isinstance(value, torch.Tensor)),
    }


def _filled(ways: VariantsByName, written: dict[str, str]) -> VariantsByName:
    """The same with the arguments in their code."""
    return {name: replace(way, code=way.code.format(**written)) for name, way in ways.items()}


def _why_not_ahead(net: Any) -> str:
    """Why a model cannot be compiled ahead of time; empty if it can."""
    if not isinstance(net, nn.Module):
        return N_("it compiles modules, and this is a function")
    if net.training:
        return N_("the model is in training mode; compiling ahead of time needs net.eval()")
    return ""


def _clone_sharing_parameters(net: Any) -> Any:
    """A copy that shares its tensors with the module; not in training mode, which changes them.

    Its submodules are eager as well. A function is returned as it is.
    """
    if not isinstance(net, nn.Module):
        return net
    tensors = [] if net.training else [*net.parameters()]
    # What a forward left behind (the weight of weight_norm, a last activation) cannot be copied.
    attributes = (value for module in net.modules() for value in vars(module).values())
    tensors += [a for a in attributes if isinstance(a, torch.Tensor) and not a.is_leaf]
    clone: nn.Module = copied(net, {id(tensor): tensor for tensor in tensors})
    for path, submodule in reversed([*clone.named_modules(remove_duplicate=False)]):
        if private.original(submodule) is not submodule:
            clone.set_submodule(path, private.original(submodule))
    return clone


def _eager(net: Any, inputs: int) -> Variant:
    """The model as Python runs it, with a note if it computes other padded rows than the others."""
    code, differs = _RUN.replace("fast", "net"), export.padding(net, inputs).rstrip(".。")
    if not differs:
        return Variant(private.without_gradients(net), code)

    def build() -> WithCompilerNote:
        return WithCompilerNote(private.without_gradients(net), lambda: differs)

    return Variant(DeferredBuild(build), code)


def _torchscript(net: Any, unfit: str) -> VariantsByName:
    """TorchScript as it is, and frozen.

    Each compiles a copy of its own: what it leaves on one would hide what is wrong with the next.
    """

    def script() -> Any:
        return private.scripted(lambda: _clone_sharing_parameters(net))

    def frozen() -> Any:
        return torch.jit.optimize_for_inference(torch.jit.freeze(script()))

    plain = DeferredBuild(lambda: private.without_gradients(script()))
    optimized = DeferredBuild(lambda: private.without_gradients(frozen()))
    return {
        "torchscript": Variant(plain, _SCRIPT, role="deprecated"),
        "torchscript frozen": Variant(unfit or optimized, _FROZEN, role="deprecated"),
    }


def _reduce_overhead(net: Any, options: Kwargs) -> Variant:
    """torch.compile with CUDA graphs."""
    way = _compiled(net, **options, mode="reduce-overhead")
    if torch.cuda.is_available():
        return way
    return replace(way, run=N_("it needs CUDA graphs, and there is no CUDA device"))


def _compiled(net: Function, **options: Any) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())

    def build() -> WithCompilerNote:
        before = private.graphs_made()
        run = private.without_gradients(compiled(net, **options))

        def note() -> str:
            has_made_none = private.APART and private.graphs_made() == before
            return NOTHING_COMPILED if has_made_none else ""

        return WithCompilerNote(run, note)

    compiler = INDUCTOR if options.get("backend", "inductor") == "inductor" else ""
    lacking = no_inductor() if compiler else ""
    given = given.replace("{", "{{").replace("}", "}}")  # the arguments are filled in later
    code = f"fast = torch.compile(net{given})\n{_RUN}"
    run = lacking or DeferredBuild(build, compiler=compiler)
    return Variant(run, code)


def _functions(net: Any, options: Kwargs) -> VariantsByName:
    """A chain of dense layers as a function of tensors, which spares what modules do in a call."""
    layers = dense_layers(net)
    device = next(net.parameters()).device if layers else "cpu"
    plain = functions(
        layers and [replace(layer, weight=layer.weight.T.copy()) for layer in layers],
        "F.linear({h}, w{i}, b{i})",
        {name: f"torch.{name}({{h}})" for name in _ACTIVATIONS.values()},
        lambda array: torch.from_numpy(array).to(device),
        {"torch": torch, "F": F},
    )
    run = plain.run
    if isinstance(run, str):
        return dict.fromkeys(("torch functions", "torch.compile function"), plain)
    body = plain.code.removeprefix("y = ")
    code = f"def plain(x):\n    return {body}\n\nfast = torch.compile(plain)\n{_RUN}"
    fast = replace(_compiled(run, **options), code=code)
    plain = Variant(private.without_gradients(run), f"with torch.no_grad():\n    {plain.code}")
    return {"torch functions": plain, "torch.compile function": fast}


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_parts(net))


def _parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    net = eager(net)
    if type(net) is nn.Sequential:
        for module in net:
            yield from _parts(module)
    elif type(net) is nn.Linear and net.weight.dtype == torch.float32:
        weight = net.weight.detach().cpu().numpy().T.copy()
        bias = torch.zeros(net.out_features) if net.bias is None else net.bias
        yield Layer(weight, bias.detach().cpu().numpy().copy())
    elif isinstance(net, nn.Identity) or (isinstance(net, nn.Dropout) and not net.training):
        yield ""
    else:
        yield _ACTIVATIONS.get(type(net))

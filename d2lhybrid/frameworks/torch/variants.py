"""The ways to run a model that PyTorch offers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.toolchain import require
from d2lhybrid.frameworks.base import require_options
from d2lhybrid.frameworks.layers import Layer, chain
from d2lhybrid.frameworks.mlp import functions
from d2lhybrid.frameworks.torch import export as programs, private
from d2lhybrid.frameworks.torch.export import ISOLATES, compiled, eager, no_inductor
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Folder,
    Function,
    Kwargs,
    Variant,
    VariantsByName,
    WithCompilerNote,
)

_ACTIVATIONS = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh"}
_NOTHING = N_("nothing was compiled; explain(net, x) says why")
_RUN = "with torch.no_grad():\n    y = fast(x)"
_SCRIPT = f"fast = torch.jit.script(net)\n{_RUN}"
_FROZEN = f"""frozen = torch.jit.freeze(torch.jit.script(net))
fast = torch.jit.optimize_for_inference(frozen)
{_RUN}"""
_PACKAGE = """program = torch.export.export(net, (x,))
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
"""
_ONNX_BOUND = """torch.onnx.export(net, (x,), dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
y, binding = torch.empty_like(net(x)), session.io_binding()
shared = onnxruntime.OrtValue.ortvalue_from_numpy
binding.bind_ortvalue_input(session.get_inputs()[0].name, shared(x.numpy()))
binding.bind_ortvalue_output(session.get_outputs()[0].name, shared(y.numpy()))
session.run_with_iobinding(binding)
y = y.clone()"""


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    They run a twin of the model, for TorchScript leaves attributes on what it compiles, and each
    TorchScript a twin of its own, for what one leaves behind hides what is wrong with the next.
    All run without gradients: what some ways never record is nothing that another is to pay for.
    """
    require_options("torch.compile", options, ("dynamic", "backend", "mode"))
    net = programs.clone_sharing_parameters(eager(net))
    unfit = "" if isinstance(net, nn.Module) else N_("it compiles modules, and this is a function")
    if not unfit and net.training:
        unfit = N_("the model is in training mode; compiling ahead of time needs net.eval()")
    differs = programs.padding(net, len(args) + len(kwargs)).rstrip(".。")

    def script() -> Any:
        return private.scripted(lambda: programs.clone_sharing_parameters(net))

    def frozen() -> Any:
        return torch.jit.optimize_for_inference(torch.jit.freeze(script()))

    def plain() -> Any:
        run = private.without_gradients(net)
        return WithCompilerNote(run, lambda: differs) if differs else run

    def lazy(build: Function) -> DeferredBuild:
        return DeferredBuild(lambda: private.without_gradients(build()))

    found = {
        "eager": Variant(DeferredBuild(plain) if differs else plain(), _RUN.replace("fast", "net")),
        "torchscript": Variant(lazy(script), _SCRIPT, deprecated=True),
        "torchscript frozen": Variant(unfit or lazy(frozen), _FROZEN, deprecated=True),
        "torch.compile": _compiled(net, **options),
    }
    if not options.keys() & {"backend", "mode"}:  # unless the user has chosen
        reduced = _compiled(net, **options, mode="reduce-overhead")
        reason = N_("it needs CUDA graphs, and there is no CUDA device")
        run = reduced.run if torch.cuda.is_available() else reason
        found["torch.compile reduce-overhead"] = replace(reduced, run=run)
    for name, (run, code) in _ahead(net, args, kwargs).items():
        if everything or name == "aotinductor":
            found[name] = Variant(unfit or run, code)
    if everything:
        sizes = {name: value for name, value in options.items() if name == "dynamic"}
        found["torch.compile max-autotune"] = _compiled(net, **sizes, mode="max-autotune")
        # Without the check whether a program fits the call.
        unsafe = getattr(torch.compiler, "skip_all_guards_unsafe", None)
        run = _compiled(net, **sizes, options={"guard_filter_fn": unsafe}).run
        by_hand = '{"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}'
        code = f"fast = torch.compile(net, options={by_hand})\n{_RUN}"
        reason = "" if unsafe else N_("this version of PyTorch cannot skip guards")
        found["torch.compile skip guards"] = Variant(reason or run, code)
        found |= _functions(net, sizes)
        found["eager, with gradients"] = Variant(net, "y = net(x)")
    return found


def _compiled(net: Function, **options: Any) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())

    def build() -> WithCompilerNote:
        before, run = private.graphs_made(), private.without_gradients(compiled(net, **options))
        return WithCompilerNote(
            run, lambda: _NOTHING if ISOLATES and private.graphs_made() == before else ""
        )

    lacking = no_inductor() if options.get("backend", "inductor") == "inductor" else ""
    code = f"fast = torch.compile(net{given})\n{_RUN}"
    return Variant(lacking or DeferredBuild(build), code)


def _ahead(net: Any, args: Args, kwargs: Kwargs) -> dict[str, tuple[Function | str, str]]:
    """A module compiled ahead of time, by AOTInductor and for ONNX Runtime, with the code of each.

    It is built into a folder, which a release does once, and loaded from it, as each process does.
    """

    def package(folder: Folder) -> Any:
        return programs.load_package(folder.path)

    def require_loads(folder: Folder) -> None:
        if reason := programs.why_not_loaded(folder.path):
            raise CannotBuildError(reason)

    def boxed(folder: Folder) -> Function:
        """By the loader, which spares what ``AOTICompiledModel`` does in Python in a call."""
        run = package(folder).loader.boxed_run
        return lambda x: run([x])[0]

    def bound(folder: Folder) -> Function:
        """On tensors that stay where they are, with as many threads as PyTorch.

        The result is copied out of the one that is written, or the next call would change it.
        """
        session = programs.open_session(folder.path, torch.get_num_threads())
        binding, (x,) = session.io_binding(), args
        kept, found = (t.detach().clone().contiguous() for t in (x, net(x)))
        shared = require("onnxruntime", "onnx").OrtValue.ortvalue_from_numpy
        binding.bind_ortvalue_input(session.get_inputs()[0].name, shared(kept.numpy()))
        binding.bind_ortvalue_output(session.get_outputs()[0].name, shared(found.numpy()))

        def call(x: Any) -> Any:
            if (x.shape, x.dtype) != (kept.shape, kept.dtype):  # copying would spread or convert it
                text = _(
                    "Expected {expected}, the input that this is bound to. Received: {received}."
                )
                shown = [f"{one.dtype} {tuple(one.shape)}" for one in (kept, x)]
                raise ArgumentError(text.format(expected=shown[0], received=shown[1]))
            kept.copy_(x)
            session.run_with_iobinding(binding)
            return found.clone()

        return call

    def exported(
        write: Callable[[Any, Path], None], load: Function, **checks: Any
    ) -> DeferredBuild:
        def build() -> Folder:
            folder = Folder()
            with torch.no_grad():
                program = torch.export.export(net, args, kwargs)
                signature = program.graph_signature
                tensors = len(signature.user_inputs), len(signature.user_outputs)
                if load is not package and tensors != (1, 1):
                    text = _("it is written for a model with one input and one output")
                    raise CannotBuildError(text)
                if load is bound and args[0].device.type != "cpu":
                    raise CannotBuildError(_("it is written for a model on the CPU"))
                write(program, folder.path)
            return folder

        return DeferredBuild(build, load, **checks)

    lacking = no_inductor()
    ahead = partial(exported, programs.compile_ahead, require_loads=require_loads)
    whole, loader = ahead(package), ahead(boxed)
    return {
        "aotinductor": (lacking or whole, _PACKAGE + "y = fast(x)"),
        "aotinductor boxed": (lacking or loader, _PACKAGE + "[y] = fast.loader.boxed_run([x])"),
        "onnxruntime io binding": (exported(programs.write_onnx, bound), _ONNX_BOUND),
    }


def _functions(net: Any, sizes: Kwargs) -> VariantsByName:
    """A chain of dense layers as a function of tensors, which spares what modules do in a call."""
    layers = dense_layers(net)
    device = next(net.parameters()).device if layers else "cpu"
    plain = functions(
        layers and [replace(one, weight=one.weight.T.copy()) for one in layers],
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
    fast = _compiled(run, **sizes).run
    plain = Variant(private.without_gradients(run), f"with torch.no_grad():\n    {plain.code}")
    return {"torch functions": plain, "torch.compile function": Variant(fast, code)}


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

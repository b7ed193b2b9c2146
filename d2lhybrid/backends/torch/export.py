"""A model of PyTorch exported, and in files: a program, a package of AOTInductor, ONNX."""

import errno
import logging
import os
import shutil
from dataclasses import replace
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from d2lhybrid.backends.formats import ExampleCall
from d2lhybrid.backends.torch import private
from d2lhybrid.backends.torch.models import evaluating
from d2lhybrid.backends.torch.modules import eager
from d2lhybrid.core.errors import SaveError, UnsupportedArtifactError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.output import silent
from d2lhybrid.core.toolchain import USUAL_CXX, find_compiler, require
from d2lhybrid.core.treespec import TreeSpec


def _why_padding_differs(net: Any, inputs: int) -> str:
    """Why a module may compute other padded rows than each program of it; nothing if it may not.

    A mask is one more input.
    """
    has_fast_path = inputs > 1 and torch.backends.mha.get_fastpath_enabled()
    modules = net.modules() if has_fast_path and isinstance(net, nn.Module) else ()
    if not any(isinstance(module, nn.TransformerEncoder) for module in modules):
        return ""
    text = _(
        "PyTorch's fast path sets padded rows to zero, but compiled programs don't; call {code} "
        "first."
    )
    return text.format(code="torch.backends.mha.set_fastpath_enabled(False)")


class _Flat(nn.Module):
    """A model as a module of flat tensors, for calls like the example."""

    def __init__(self, example: ExampleCall) -> None:
        super().__init__()
        self.model = example.model  # so that its tensors are the program's
        self._example = example

    def forward(self, *tensors: Any) -> Any:
        return self._example.flat(*tensors)


def _takes_flat_tensors(example: ExampleCall) -> bool:
    """Is it a module that takes tensors by position and returns a tensor?

    Its program then is the one that torch.export itself would write. Any other module needs one of
    ours around it, which takes the tensors flat.
    """
    positional, by_keyword = example.in_spec.parts
    tensors = TreeSpec("tuple", parts=(TreeSpec("tensor"),) * len(example.inputs))
    takes_tensors = positional == tensors and by_keyword == TreeSpec("dict")
    if not takes_tensors or example.out_spec != TreeSpec("tensor"):
        return False
    module = example.model
    # With ``*args`` or ``**kwargs``, the shapes would have to be nested as they are.
    return isinstance(module, nn.Module) and "*" not in str(signature(module.forward))


def exported(example: ExampleCall, folder: Path) -> Any:
    """A program of flat, contiguous tensors, in which the example's axes vary; with example inputs.

    Raises:
        SaveError: What the exporter says of the model, or the sizes decide what it computes.
        OSError: The disk has no room for it; torch would find out and end the whole process.
    """
    example = replace(example, model=eager(example.model))
    varying: Any = tuple(
        dict.fromkeys(axes, torch.export.Dim.DYNAMIC) or None for axes in example.dynamic_dims
    )
    module = example.model
    if not _takes_flat_tensors(example):
        module, varying = _Flat(example), (varying,)  # of its one parameter, ``*tensors``
    if differs := _why_padding_differs(module, len(example.inputs)):
        raise SaveError(differs)
    # The exporter takes a size of 1 for a constant, so it sees the larger example.
    inputs = tuple(x.contiguous() for x in example.larger_inputs or example.inputs)
    try:
        with evaluating(module), torch.no_grad(), silent(logs=logging.ERROR, prints=True):
            varying = varying if example.larger_inputs else None
            program: Any = torch.export.export(module, inputs, dynamic_shapes=varying)
            # There may be a guard that only the larger inputs pass.
            program.module()(*example.inputs)
    except Exception as error:
        text = _("torch.export doesn't accept this model: {reason}.")
        if "torch.classes.quantized" in str(error):
            text = _(
                "torch.export doesn't accept packed weights; save the model before quantizing it."
            )
        raise SaveError(text, reason=brief(error)) from error
    if conditions := private.conditions_on_sizes(program):
        # Only a program that is checked at each call may have them; files of programs are not.
        text = _("what the model computes depends on the sizes ({condition})")
        raise SaveError(text, condition=conditions[0])
    tensors = (*program.state_dict.values(), *program.constants.values())
    tensor_bytes = sum(getattr(tensor, "nbytes", 0) for tensor in tensors)
    if shutil.disk_usage(folder).free < int(1.05 * tensor_bytes) + (1 << 16):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return program


def sizes(program: Any) -> tuple[str, ...]:
    """The sizes of each input as the program names them, ``"s0,4"``: one name is one size."""
    nodes = {node.name: node.meta["val"] for node in program.graph.nodes if "val" in node.meta}
    inputs = (nodes[name] for name in program.graph_signature.user_inputs)
    return tuple(",".join(map(str, tensor.shape)) for tensor in inputs)


# What stands in a folder, called model.pt2 or model.onnx.


def write_program(program: Any, folder: Path) -> None:
    """Write an exported program."""
    program.example_inputs = None  # they would be pickled; the manifest has better ones
    with silent(logs=logging.WARNING):  # which torch's exporters say of themselves
        torch.export.save(program, folder / "model.pt2")


def compile_ahead(program: Any, folder: Path) -> None:
    """Let AOTInductor compile an exported program into a package.

    AOTInductor gets a new folder to work in. By default it takes one that is named after the
    program and removes there what it no longer needs, so two processes that compile the same
    program at a time could remove each other's files. The package appears when it is whole.

    Raises:
        CompilerMissingError: There is none; Inductor's own search ends in an error without advice.
    """
    find_compiler("C++", USUAL_CXX)
    with TemporaryDirectory(dir=folder) as working, silent(), torch.no_grad():
        whole = Path(working, "whole.pt2")
        with torch._inductor.config.patch({"aot_inductor.output_path": working}):
            torch._inductor.aoti_compile_and_package(program, package_path=str(whole))
        whole.replace(folder / "model.pt2")


def load_package(folder: Path) -> Any:
    """What AOTInductor has compiled; it runs on flat or nested tensors as the model does."""
    return torch._inductor.aoti_load_package(str(folder / "model.pt2"))


def no_packages() -> str:
    """Why packages of AOTInductor must not be loaded in this process; empty if they can be."""
    version = torch.__version__
    if version.startswith("2.11.") and torch.cuda.is_available():
        text = _("PyTorch {version} crashes when it loads such a file where there is a GPU")
        return text.format(version=version)
    return ""


def write_onnx(program: Any, folder: Path, **names: Any) -> None:
    """Write an exported program as an ONNX file, with `names` for its inputs and outputs."""
    require("onnxscript", "onnx")
    with silent(logs=logging.WARNING, prints=True):
        try:
            onnx_program = torch.onnx.export(program, dynamo=True, verbose=False, **names)
        except torch.onnx.OnnxExporterError as error:
            raise (error.__cause__ or error) from None  # its own text is a list of advice
        onnx_program.save(folder / "model.onnx")


def open_session(folder: Path, threads: int = 0, **choices: Any) -> Any:
    """ONNX Runtime on the CPU, with its own number of threads where that is 0."""
    runtime = require("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    file = str(folder / "model.onnx")
    return runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"], **choices)


def open_strangers_session(folder: Path) -> Any:
    """As ``open_session``, for a file that anybody may have written: nothing in it runs yet.

    Constants are not folded: computing them may never end. Nor does it end if functions that call
    each other are written out.

    Raises:
        UnsupportedArtifactError: There are functions in the file.
    """
    require("onnxruntime", "onnx")
    model = require("onnx", "onnx").load(folder / "model.onnx", load_external_data=False)
    if model.functions:
        text = _(
            "Expected an ONNX file without functions, as {save} writes it. Received: one with the "
            "function {name!r}. Save the model again."
        )
        raise UnsupportedArtifactError(text, save="save", name=model.functions[0].name)
    return open_session(folder, disabled_optimizers=["ConstantFolding"])

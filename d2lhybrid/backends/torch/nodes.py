"""The nodes of the graphs of torch.fx, both of the recorded one and of that of ATen operations.

What PyTorch never promised of them is asked here, each behind a small function.
"""

from collections.abc import Sequence
from typing import Any

import torch


def is_inductor_operation(name: str) -> bool:
    """Does Inductor have an operation of this name for its loops?"""
    return hasattr(torch._inductor.ops_handler.OpsHandler, name)


def returns_input(node: Any) -> bool:
    """Does a recorded node return its input, a view of it, or a number that is read from it?"""
    results, sources = _example_tensors([node]), _example_tensors(node.all_input_nodes)
    if not results:
        return not is_inductor_operation(operation_name(node))
    return any(torch._C._is_alias_of(result, source) for result in results for source in sources)


def _example_tensors(nodes: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors with which TorchDynamo recorded the results of nodes."""
    leaves = torch.utils._pytree.tree_leaves([node.meta.get("example_value") for node in nodes])
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def has_effect(node: Any) -> bool:
    """Does a node draw random numbers, print, or write to its inputs? Or one in its branches?"""
    if node.op in ("placeholder", "output", "get_attr"):
        return False
    branches = [graph for graph in map(branch_graph, node.all_input_nodes) if graph]
    return (
        (node.op == "call_function" and node.is_impure())
        or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        or any(has_effect(inner) for branch in branches for inner in branch.graph.nodes)
    )


def branch_graph(node: Any) -> Any:
    """The graph of a branch or of a loop's body, if a node stands for one; else None."""
    attribute = getattr(node.graph.owning_module, str(node.target), None)
    is_branch = node.op == "get_attr" and isinstance(attribute, torch.fx.GraphModule)
    return attribute if is_branch else None


def draws_random_numbers(name: str) -> bool:
    """Does the ATen operation of this name draw random numbers?"""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet else []
    return any(torch.Tag.nondeterministic_seeded in overload.tags for overload in overloads)


def operation_name(node: Any) -> str:
    """What a node of a graph does: 'aten.add.Tensor', 'matmul', ..."""
    is_python = node.op == "call_function" and type(node.target).__name__ != "OpOverload"
    return str(getattr(node.target, "__name__", node.target) if is_python else node.target)


def short_name(operation: str) -> str:
    """'add' of 'aten.add.Tensor'."""
    return operation.split(".")[1] if "." in operation else operation


def origins(node: Any, graph_id: int) -> frozenset[str]:
    """The names of the nodes of a graph from which one comes, however many graphs ago."""
    names, sources = set(), list(node.meta.get("from_node") or ())
    while sources:
        source = sources.pop()
        if source.graph_id == graph_id:
            names.add(source.name)
        sources += source.from_node
    return frozenset(names)


def has_images_in_rows(graph: Any, inputs: Any) -> bool:
    """Are there images to convolve of which no tensor has its channels last already?

    One such tensor, an image or a weight, and PyTorch computes like that without a compiler, too.
    """
    convolutions = [node for node in graph.nodes if "convolution" in operation_name(node)]
    inputs_of_them = [node.args[0].meta.get("val") for node in convolutions]  # none of a weight
    has_images = any(value is not None and value.dim() > 3 for value in inputs_of_them)
    return has_images and not any(map(_has_channels_last, inputs))


def _has_channels_last(tensor: Any) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if not isinstance(tensor, torch.Tensor) or tensor.dim() not in formats:
        return False
    last = tensor.is_contiguous(memory_format=formats[tensor.dim()])
    return last and not tensor.is_contiguous()

"""What a compiler makes of a call, counted."""

from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.hlo import CONTRACTIONS, CONTROL_FLOW, read_stage
from d2lhybrid.graphs.program import Program, counted
from d2lhybrid.graphs.stages import Node, Stage

LEFT = """HloModule jit_f

%fused (p: f32[8,4], q: f32[4,4]) -> f32[8,4] {
  %p = f32[8,4] parameter(0)
  %q = f32[4,4] parameter(1)
  %d = f32[8,4] dot(%p, %q), metadata={op_name="jit(f)/dot_general"}
  ROOT %t = f32[8,4] tanh(%d), metadata={op_name="jit(f)/tanh"}
}

ENTRY %main (a: f32[8,4], b: f32[4,4]) -> f32[8,4] {
  %a = f32[8,4] parameter(0)
  %b = f32[4,4] parameter(1)
  %f = f32[8,4] fusion(%a, %b), kind=kOutput, calls=%fused
  %g = (f32[8,4], s8[64]) custom-call(%f, %b), custom_call_target="__cublas$gemm"
  %e = f32[8,4] get-tuple-element(%g), index=0
  %l = f32[8,4] custom-call(%e), custom_call_target="lapack_sgeqrf"
  ROOT %w = f32[8,4] while(%l), condition=%c, body=%d
}
"""


def test_contractions_are_counted_alone_fused_and_as_calls_of_libraries():
    traced = Stage("traced", (Node("x"), Node("dot_general", "dot_general", ("x",))), ())
    left = read_stage("left", LEFT, ("dot_general", "tanh"))
    graph = Graph("JAX", "f", (traced, left), contractions=CONTRACTIONS, control_flow=CONTROL_FLOW)
    program = counted([graph, graph])
    assert program == Program(2, 8, contractions=4, fused=0, folded=0, control_flow=2)

// Run a TorchScript archive without Python.
// The headers of single operators, not the one of all: the compiler reads half as much.
#define AT_PER_OPERATOR_HEADERS
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "torch_tensors.h"

static int written = 0;

// A model returns a tensor, or tuples, lists and dictionaries of them, nested as they come.
static void write_all(const Job &job, const c10::IValue &value) {
  if (value.isTensor()) return to_raw(job, written++, value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor tensor : value.toTensorList()) to_raw(job, written++, tensor);
  } else if (value.isTuple()) {
    for (const auto &item : value.toTupleRef().elements()) write_all(job, item);
  } else if (value.isList()) {
    for (const c10::IValue item : value.toList()) write_all(job, item);
  } else if (value.isGenericDict()) {
    for (const auto &item : value.toGenericDict()) write_all(job, item.value());
  } else if (!value.isNone()) {
    fail("the model returned a", value.tagKind().c_str());
  }
}

int main(int argc, char **argv) try {
  Job job = read_job(argc, argv);
  c10::InferenceMode inference;
  torch::jit::Module model = torch::jit::load(job.model, at::kCPU);
  std::vector<c10::IValue> inputs;
  for (int i = 0; i < job.inputs; i++) inputs.push_back(from_raw(job.input[i]));
  write_all(job, model.forward(inputs));
  return 0;
} catch (const std::exception &error) {
  fail("torch", error.what());
}

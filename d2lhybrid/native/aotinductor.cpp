// Run an AOTInductor package without Python.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include "tensors.h"

static const struct {
  const char *name;
  at::ScalarType type;
} TYPES[] = {{"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf},
             {"bfloat16", at::kBFloat16}, {"int64", at::kLong}, {"int32", at::kInt},
             {"int16", at::kShort}, {"int8", at::kChar}, {"uint8", at::kByte}, {"bool", at::kBool}};

static at::Tensor from_raw(const Tensor &raw) {
  for (auto &known : TYPES)
    if (!strcmp(known.name, raw.dtype))
      return at::from_blob(raw.data, at::IntArrayRef(raw.shape, raw.rank), known.type);
  fail("torch has no dtype", raw.dtype);
  return {};
}

static void to_raw(const Job &job, int i, at::Tensor tensor) {
  tensor = tensor.detach().cpu().contiguous();
  for (auto &known : TYPES)
    if (known.type == tensor.scalar_type())
      return write_output(&job, i, known.name, (int)tensor.dim(), tensor.sizes().data(),
                          tensor.data_ptr());
  fail("cannot write dtype", toString(tensor.scalar_type()));
}

int main(int argc, char **argv) try {
  Job job = read_job(argc, argv);
  c10::InferenceMode inference;
  torch::inductor::AOTIModelPackageLoader model(job.model);
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < job.inputs; i++) inputs.push_back(from_raw(job.input[i]));
  int written = 0;
  for (const at::Tensor &tensor : model.run(inputs)) to_raw(job, written++, tensor);
  return 0;
} catch (const std::exception &error) {
  fail("torch", error.what());
}

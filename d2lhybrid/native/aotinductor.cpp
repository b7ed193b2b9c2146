// Run an AOTInductor package without Python.
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include "torch_tensors.h"

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

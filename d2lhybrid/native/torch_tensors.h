/* Between raw tensors and torch's. */
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

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

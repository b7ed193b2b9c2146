/* Run an exported MXNet model without Python: MODEL-symbol.json and MODEL-0000.params. */
#include <stdbool.h>
#include <stdint.h>

#include "mxnet/c_predict_api.h"
#include "tensors.h"

/* In MXNet's library, but not in this header. */
int MXSetIsNumpyShape(int on, int *before);

static void check(int failed) {
  if (failed) fail("MXNet", MXGetLastError());
}

int main(int argc, char **argv) {
  Job job = read_job(argc, argv);
  char path[4096];
  size_t symbol_size, params_size;
  snprintf(path, sizeof path, "%s-symbol.json", job.model);
  char *symbol = read_file(path, &symbol_size);
  snprintf(path, sizeof path, "%s-0000.params", job.model);
  void *params = read_file(path, &params_size);

  /* A model of mx.np must be run with NumPy's idea of shapes, one of mx.nd without. */
  int before;
  check(MXSetIsNumpyShape(strstr(symbol, "\"is_np_shape\": [\"int\", 1]") != NULL, &before));

  const char *names[MAX_TENSORS];
  uint32_t ends[MAX_TENSORS + 1] = {0}, sizes[MAX_TENSORS * MAX_RANK];
  for (int i = 0; i < job.inputs; i++) {
    Tensor *t = &job.input[i];
    if (strcmp(t->dtype, "float32")) fail("MXNet's predict API takes float32, not", t->dtype);
    names[i] = t->name;
    ends[i + 1] = ends[i];
    for (int k = 0; k < t->rank; k++) sizes[ends[i + 1]++] = (uint32_t)t->shape[k];
  }

  PredictorHandle model;
  const int cpu = 1;
  check(MXPredCreate(symbol, params, (int)params_size, cpu, 0, (uint32_t)job.inputs, names, ends,
                     sizes, &model));
  for (int i = 0; i < job.inputs; i++) {
    Tensor *t = &job.input[i];
    check(MXPredSetInput(model, t->name, (float *)t->data, (uint32_t)(t->bytes / sizeof(float))));
  }
  check(MXPredForward(model));

  for (int i = 0; i < job.outputs; i++) {
    uint32_t *dims, rank, count = 1;
    int64_t shape[MAX_RANK];
    check(MXPredGetOutputShape(model, (uint32_t)i, &dims, &rank));
    for (uint32_t k = 0; k < rank && k < MAX_RANK; k++) count *= (uint32_t)(shape[k] = dims[k]);
    float *values = malloc(count * sizeof(float));
    check(MXPredGetOutput(model, (uint32_t)i, values, count));
    write_output(&job, i, "float32", (int)rank, shape, values);
  }

  /* MXNet's own clean-up at exit crashes or waits for ever about once in 400 runs, when a worker
     thread outlives what it uses. All is written, so leave without it. */
  fflush(stdout);
  _Exit(0);
}

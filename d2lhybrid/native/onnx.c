/* Run an ONNX file without Python, with the ONNX Runtime library of the Python package.

   The package brings no C header. ONNX Runtime's C API is a table of functions to which releases
   only add at the end, so the few that are needed are named here by their places. */
#include <dlfcn.h>

#include "tensors.h"

typedef void *Handle;
typedef struct {
  void *places_0_1[2];
  const char *(*message)(Handle status);                                             /* 2 */
  Handle (*create_env)(int level, const char *name, Handle *env);                    /* 3 */
  void *places_4_6[3];
  Handle (*create_session)(Handle env, const char *path, Handle options, Handle *);  /* 7 */
  void *place_8;
  Handle (*run)(Handle session, Handle options, const char *const *input_names,
                const Handle *inputs, size_t input_count, const char *const *output_names,
                size_t output_count, Handle *outputs);                               /* 9 */
  Handle (*create_session_options)(Handle *options);                                 /* 10 */
  void *places_11_48[38];
  Handle (*create_tensor)(Handle memory, void *data, size_t bytes, const int64_t *shape,
                          size_t rank, int type, Handle *value);                     /* 49 */
  void *place_50;
  Handle (*tensor_data)(Handle value, void **data);                                  /* 51 */
  void *places_52_59[8];
  Handle (*element_type)(Handle info, int *type);                                    /* 60 */
  Handle (*rank)(Handle info, size_t *rank);                                         /* 61 */
  Handle (*shape)(Handle info, int64_t *shape, size_t rank);                         /* 62 */
  void *places_63_64[2];
  Handle (*tensor_info)(Handle value, Handle *info);                                 /* 65 */
  void *places_66_68[3];
  Handle (*cpu_memory)(int allocator, int kind, Handle *memory);                     /* 69 */
} Api;
typedef struct {
  const Api *(*api)(uint32_t version);
  const char *(*version)(void);
} ApiBase;

/* ONNX's own numbers for dtypes; an empty name is one that this program does not know. */
static const char *const TYPES[] = {"", "float32", "uint8", "int8", "", "int16", "int32", "int64",
                                    "", "bool", "float16", "float64", "", "", "", "", "bfloat16"};
enum { KNOWN = sizeof TYPES / sizeof TYPES[0] };

static const Api *ort;

static void check(Handle status) {
  if (status) fail("ONNX Runtime", ort->message(status));
}

int main(int argc, char **argv) {
  Job job = read_job(argc, argv);
  void *library = dlopen(ONNXRUNTIME, RTLD_NOW);
  if (!library) fail("cannot open ONNX Runtime", dlerror());
  const ApiBase *(*base)(void) = (const ApiBase *(*)(void))dlsym(library, "OrtGetApiBase");
  if (!base || !(ort = base()->api(1))) fail("ONNX Runtime", "has not version 1 of its C API");

  Handle env, options, session, memory, given[MAX_TENSORS], found[MAX_TENSORS] = {NULL};
  const char *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];
  const int errors_only = 3, device_allocator = 0, default_memory = 0;
  check(ort->create_env(errors_only, "d2lhybrid", &env));
  check(ort->create_session_options(&options));
  check(ort->create_session(env, job.model, options, &session));
  check(ort->cpu_memory(device_allocator, default_memory, &memory));

  for (int i = 0; i < job.inputs; i++) {
    Tensor *t = &job.input[i];
    int type = 1;
    while (type < KNOWN && strcmp(TYPES[type], t->dtype)) type++;
    inputs[i] = t->name;
    check(ort->create_tensor(memory, t->data, t->bytes, t->shape, (size_t)t->rank, type,
                             &given[i]));
  }
  for (int i = 0; i < job.outputs; i++) outputs[i] = job.output[i].name;
  check(ort->run(session, NULL, inputs, (const Handle *)given, (size_t)job.inputs, outputs,
                 (size_t)job.outputs, found));

  for (int i = 0; i < job.outputs; i++) {
    Handle info;
    void *data;
    size_t rank;
    int type;
    int64_t shape[MAX_RANK];
    check(ort->tensor_info(found[i], &info));
    check(ort->element_type(info, &type));
    check(ort->rank(info, &rank));
    if (rank > MAX_RANK || type < 1 || type >= KNOWN || !*TYPES[type])
      fail("cannot write the output", job.output[i].name);
    check(ort->shape(info, shape, rank));
    check(ort->tensor_data(found[i], &data));
    write_output(&job, i, TYPES[type], (int)rank, shape, data);
  }
  return 0;
}

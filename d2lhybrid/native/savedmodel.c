/* Run a TensorFlow SavedModel without Python. Tensors have the names that its signature gives
   them, such as serving_default_x:0. */
#include "tensorflow/c/c_api.h"
#include "tensors.h"

static const struct {
  const char *name;
  TF_DataType type;
} TYPES[] = {{"float32", TF_FLOAT}, {"float64", TF_DOUBLE}, {"float16", TF_HALF},
             {"bfloat16", TF_BFLOAT16}, {"int64", TF_INT64}, {"int32", TF_INT32},
             {"int16", TF_INT16}, {"int8", TF_INT8}, {"uint8", TF_UINT8}, {"bool", TF_BOOL}};
enum { KNOWN = sizeof TYPES / sizeof TYPES[0] };

static void check(TF_Status *status) {
  if (TF_GetCode(status) != TF_OK) fail("TensorFlow", TF_Message(status));
}

/* "name:1" is output 1 of the operation "name". */
static TF_Output find(TF_Graph *graph, const char *name) {
  char operation[1024];
  const char *colon = strrchr(name, ':');
  snprintf(operation, sizeof operation, "%.*s", colon ? (int)(colon - name) : 1000, name);
  TF_Output found = {TF_GraphOperationByName(graph, operation), colon ? atoi(colon + 1) : 0};
  if (!found.oper) fail("the graph has no operation", operation);
  return found;
}

static TF_Tensor *from_raw(const Tensor *raw) {
  for (int k = 0; k < KNOWN; k++) {
    if (strcmp(TYPES[k].name, raw->dtype)) continue;
    TF_Tensor *tensor = TF_AllocateTensor(TYPES[k].type, raw->shape, raw->rank, raw->bytes);
    memcpy(TF_TensorData(tensor), raw->data, raw->bytes);
    return tensor;
  }
  fail("TensorFlow has no dtype", raw->dtype);
  return NULL;
}

int main(int argc, char **argv) {
  Job job = read_job(argc, argv);
  const char *tags[] = {"serve"};
  TF_Status *status = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph();
  TF_Session *session = TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), NULL, job.model, tags,
                                                     1, graph, NULL, status);
  check(status);

  TF_Output inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  TF_Tensor *given[MAX_TENSORS], *found[MAX_TENSORS];
  for (int i = 0; i < job.inputs; i++) {
    inputs[i] = find(graph, job.input[i].name);
    given[i] = from_raw(&job.input[i]);
  }
  for (int i = 0; i < job.outputs; i++) outputs[i] = find(graph, job.output[i].name);
  TF_SessionRun(session, NULL, inputs, given, job.inputs, outputs, found, job.outputs, NULL, 0,
                NULL, status);
  check(status);

  for (int i = 0; i < job.outputs; i++) {
    const char *dtype = NULL;
    int64_t shape[MAX_RANK];
    int rank = TF_NumDims(found[i]);
    for (int k = 0; k < KNOWN; k++)
      if (TYPES[k].type == TF_TensorType(found[i])) dtype = TYPES[k].name;
    if (!dtype || rank > MAX_RANK) fail("cannot write the output", job.output[i].name);
    for (int k = 0; k < rank; k++) shape[k] = TF_Dim(found[i], k);
    write_output(&job, i, dtype, rank, shape, TF_TensorData(found[i]));
  }
  return 0;
}

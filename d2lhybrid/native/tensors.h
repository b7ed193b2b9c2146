/* Raw tensors for the programs beside this file. A program is called as

     program MODEL  input NAME DTYPE SHAPE FILE ...  output NAME FILE ...

   for example   program model.pt input x float32 1,512 x.raw output y y.raw
   It reads and writes plain little-endian numbers, and prints one line for each output:
   name, dtype, and the sizes of its axes. */
#ifndef D2LHYBRID_TENSORS_H
#define D2LHYBRID_TENSORS_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16, MAX_TENSORS = 64 };

typedef struct {
  const char *name, *dtype, *file;
  int rank;
  int64_t shape[MAX_RANK];
  size_t bytes;
  void *data;
} Tensor;

typedef struct {
  const char *model;
  int inputs, outputs;
  Tensor input[MAX_TENSORS], output[MAX_TENSORS];
} Job;

static inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static inline size_t item_size(const char *dtype) {
  if (!strcmp(dtype, "bool") || strstr(dtype, "int8")) return 1;
  if (strstr(dtype, "16")) return 2;
  if (strstr(dtype, "32")) return 4;
  if (strstr(dtype, "64")) return 8;
  fail("unknown dtype", dtype);
  return 0;
}

static inline void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail("cannot read", path);
  *size = (size_t)ftell(file);
  char *bytes = (char *)calloc(*size + 1, 1); /* the spare byte ends a text */
  rewind(file);
  if (!bytes || fread(bytes, 1, *size, file) != *size) fail("cannot read", path);
  fclose(file);
  return bytes;
}

static inline Job read_job(int argc, char **argv) {
  Job job;
  memset(&job, 0, sizeof job);
  if (argc < 2) fail("usage", "program MODEL input NAME DTYPE SHAPE FILE ... output NAME FILE ...");
  job.model = argv[1];
  for (int i = 2; i < argc;) {
    if (!strcmp(argv[i], "input") && i + 4 < argc && job.inputs < MAX_TENSORS) {
      Tensor *t = &job.input[job.inputs++];
      t->name = argv[i + 1], t->dtype = argv[i + 2], t->file = argv[i + 4];
      for (char *p = argv[i + 3]; *p && t->rank < MAX_RANK; p += *p == ',')
        t->shape[t->rank++] = strtoll(p, &p, 10);
      t->data = read_file(t->file, &t->bytes);
      size_t expected = item_size(t->dtype);
      for (int k = 0; k < t->rank; k++) expected *= (size_t)t->shape[k];
      if (expected != t->bytes) fail("file has not the size of its shape", t->file);
      i += 5;
    } else if (!strcmp(argv[i], "output") && i + 2 < argc && job.outputs < MAX_TENSORS) {
      Tensor *t = &job.output[job.outputs++];
      t->name = argv[i + 1], t->file = argv[i + 2];
      i += 3;
    } else {
      fail("cannot understand", argv[i]);
    }
  }
  return job;
}

static inline void write_output(const Job *job, int i, const char *dtype, int rank,
                                const int64_t *shape, const void *data) {
  if (i >= job->outputs) fail("the model has more outputs than", "were asked for");
  size_t bytes = item_size(dtype);
  printf("%s %s", job->output[i].name, dtype);
  for (int k = 0; k < rank; k++) {
    printf(" %lld", (long long)shape[k]);
    bytes *= (size_t)shape[k];
  }
  printf("\n");
  FILE *file = fopen(job->output[i].file, "wb");
  if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
    fail("cannot write", job->output[i].file);
}
#endif

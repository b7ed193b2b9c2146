/* A chain of dense layers, with its weights in this program's own file.

   It stays, and reads requests from its input; frameworks/dense.py says what they are. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* The bytes of a file become an array of this program. */
#ifdef __APPLE__
#define SECTION ".section __TEXT,__const\n"
#define LABEL(name) "_" #name
#else
#define SECTION ".section .rodata\n"
#define LABEL(name) #name
#endif
#define ARRAY(name, file)                                                                    \
  extern const float name[];                                                                 \
  __asm__(SECTION ".balign 64\n.globl " LABEL(name) "\n" LABEL(name) ":\n.incbin \"" file "\"\n.text\n");
#define BUFFER(name, size) static float name[size] __attribute__((aligned(64)))

/* the arrays */

static float input[ROWS * INPUTS] __attribute__((aligned(64)));
static float output[ROWS * OUTPUTS] __attribute__((aligned(64)));

/* y = x w + b. The weights are read row by row, four rows at a time, as they lie in memory. */
static void dense(const float *restrict w, const float *restrict b, const float *restrict x,
                  float *restrict y, int inputs, int outputs) {
  for (int o = 0; o < outputs; o++) y[o] = b[o];
  int i = 0;
  for (; i + 4 <= inputs; i += 4) {
    const float *row = w + (long)i * outputs;
    for (int o = 0; o < outputs; o++)
      y[o] += x[i] * row[o] + x[i + 1] * row[outputs + o] + x[i + 2] * row[2 * outputs + o] +
              x[i + 3] * row[3 * outputs + o];
  }
  for (; i < inputs; i++)
    for (int o = 0; o < outputs; o++) y[o] += x[i] * w[(long)i * outputs + o];
}

static inline void relu(float *y, int size) {
  for (int o = 0; o < size; o++) y[o] = y[o] > 0 ? y[o] : 0;
}

static inline void sigmoid(float *y, int size) {
  for (int o = 0; o < size; o++) y[o] = 1 / (1 + expf(-y[o]));
}

static inline void tanh_(float *y, int size) {
  for (int o = 0; o < size; o++) y[o] = tanhf(y[o]);
}
#define tanh tanh_

static void forward(void) {
  for (int row = 0; row < ROWS; row++) {
    const float *x = input + (long)row * INPUTS;
    float *y = output + (long)row * OUTPUTS;
    /* the layers */
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(void) {
  (void)relu, (void)sigmoid, (void)tanh_;
  int64_t calls;
  while (fread(&calls, sizeof calls, 1, stdin) == 1) {
    if (!calls) {
      if (fread(input, sizeof input, 1, stdin) != 1) return 1;
      forward();
      fwrite(output, sizeof output, 1, stdout);
    } else {
      double start = now();
      for (int64_t call = 0; call < calls; call++) {
        forward();
        __asm__ volatile("" ::: "memory"); /* or the compiler would see that one call will do */
      }
      double seconds = now() - start;
      fwrite(&seconds, sizeof seconds, 1, stdout);
    }
    fflush(stdout);
  }
  return 0;
}

/* 14_executables.c - compile once, run from four threads on plain memory: no
 * context, no allocation, the same bits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "calx.h"

enum { ROWS = 32, IN = 64, OUT = 10, THREADS = 4 };

CX_DEF(forward, w, x) {
  return cx_softmax(cx_matmul(x, w));
}

typedef struct job {
  const cx_exe *exe;
  const float *w, *x;
  float y[ROWS * OUT];
  cx_code code;
} job;
static void *work(void *arg) {
  job *j = arg;
  void *space = aligned_alloc(64, cx_exe_workspace(j->exe) + 64);
  for (int i = 0; i < 100 && !j->code; i++)
    j->code = cx_exe_run(j->exe, (const void *[]){ j->w, j->x },
                         (void *[]){ j->y }, space);
  free(space);
  return NULL;
}
static float noise(void) {
  return (float)rand() / (float)RAND_MAX - 0.5f;
}

int main(void) {
  cx_ctx *ctx = cx_open("cpu");
  cx_exe *exe = cx_compile(CX_FN(forward), cx_spec(CX_F32, IN, OUT),
                           cx_spec(CX_F32, ROWS, IN));
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx); /* the executable does not need it */
  if (code) return code;

  printf("%s", cx_exe_plan(exe));
  static float w[IN * OUT], x[ROWS * IN];
  static job jobs[THREADS];
  for (int i = 0; i < IN * OUT; i++) w[i] = noise();
  for (int i = 0; i < ROWS * IN; i++) x[i] = noise();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){ .exe = exe, .w = w, .x = x };
    if (pthread_create(&threads[i], NULL, work, &jobs[i])) return CX_EUSER;
  }
  bool same = true;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    if (jobs[i].code) fprintf(stderr, "%s\n", cx_code_name(jobs[i].code));
    same = same && !jobs[i].code &&
           !memcmp(jobs[i].y, jobs[0].y, sizeof jobs[i].y);
  }
  double sum = 0;
  for (int i = 0; i < OUT; i++) sum += (double)jobs[0].y[i];
  printf("%d threads, %s bits; a row's sum is %.3f\n", THREADS,
         same ? "the same" : "different", sum);
  cx_exe_free(exe);
  return !same || !(sum > 0.999 && sum < 1.001);
}

/* The same as ../1_hello in C, writing the result into memory of our own.
 *
 *   sluice compile examples/digits/digits.onnx -o digits.sluice
 *   hello_c digits.sluice
 */
#include <stdio.h>

#include "sluice/sluice.h"

static float seven[64] = {0, 0, .5f, 1,   1,   1,   .4f, 0, /* */
                          0, 0, .7f, .6f, .5f, 1,   .4f, 0, /* */
                          0, 0, 0,   0,   .3f, 1,   .1f, 0, /* */
                          0, 0, .2f, .5f, .9f, 1,   .6f, 0, /* */
                          0, 0, .8f, 1,   1,   .7f, .4f, 0, /* */
                          0, 0, 0,   .5f, .9f, 0,   0,   0, /* */
                          0, 0, 0,   1,   .5f, 0,   0,   0, /* */
                          0, 0, .6f, 1,   .1f, 0,   0,   0};

/* Runs the model on one image; 0 on success. */
static int32_t classify(sluice_model* model, float probabilities[10]) {
  static const int64_t dims[4] = {1, 1, 8, 8};
  const sluice_array image = {seven, sizeof(seven), 1, 4, dims};
  sluice_context* context = NULL;
  int32_t code = sluice_context_create(model, &context);
  if (code == SLUICE_STATUS_OK) code = sluice_context_set_input(context, "image", &image);
  if (code == SLUICE_STATUS_OK) {
    code = sluice_context_bind_output(context, "probabilities", probabilities, 10 * sizeof(float));
  }
  if (code == SLUICE_STATUS_OK) code = sluice_context_run(context);
  sluice_context_free(context);
  return code;
}

int main(int argc, char** argv) {
  sluice_model* model = NULL;
  float probabilities[10] = {0};
  int best = 0;
  int32_t code = sluice_model_open(argc > 1 ? argv[1] : "digits.sluice", NULL, &model);
  if (code == SLUICE_STATUS_OK) code = classify(model, probabilities);
  sluice_model_close(model);
  if (code != SLUICE_STATUS_OK) {
    fprintf(stderr, "hello_c: %s\n", sluice_last_error());
    return 1;
  }
  for (int i = 1; i < 10; ++i) {
    if (probabilities[i] > probabilities[best]) best = i;
  }
  printf("it is a %d (%.1f %%)\n", best, probabilities[best] * 100);
  return 0;
}

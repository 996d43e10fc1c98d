/* Runs a traced file of one f32 input and one f32 output once, in C.
 *
 *   run_file MODEL.sluice < values of the input
 *
 * Prints the elements of the output, one a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sluice/sluice.h"

static int64_t num_elements(const sluice_tensor_spec* spec) {
  int64_t count = 1;
  for (int32_t i = 0; i < spec->rank; ++i) count *= spec->dims[i];
  return count;
}

static int32_t run(sluice_context* context, const sluice_model* model, const float* values,
                   sluice_array* output) {
  const sluice_tensor_spec* spec = sluice_model_input(model, 0);
  const int64_t size_bytes = num_elements(spec) * (int64_t)sizeof(float);
  const sluice_array input = {(void*)values, size_bytes, spec->element_type, spec->rank,
                              spec->dims};
  int32_t code = sluice_context_set_input(context, spec->name, &input);
  if (code == SLUICE_OK) code = sluice_context_run(context);
  if (code != SLUICE_OK) return code;
  return sluice_context_output(context, sluice_model_output(model, 0)->name, output);
}

int main(int argc, char** argv) {
  sluice_model* model = NULL;
  sluice_context* context = NULL;
  sluice_array output = {0};
  int32_t code = sluice_model_open(argc > 1 ? argv[1] : "model.sluice", NULL, &model);
  if (code == SLUICE_OK) code = sluice_context_create(model, &context);
  if (code == SLUICE_OK) {
    const size_t count = (size_t)num_elements(sluice_model_input(model, 0));
    float* values = malloc(count * sizeof(float));
    if (values == NULL || fread(values, sizeof(float), count, stdin) != count) {
      fprintf(stderr, "run_file: too few values\n");
      return 1;
    }
    code = run(context, model, values, &output);
    for (int64_t i = 0; i < output.size_bytes / (int64_t)sizeof(float); ++i) {
      printf("%.9g\n", ((const float*)output.data)[i]);
    }
    free(values);
  }
  if (code != SLUICE_OK) fprintf(stderr, "run_file: %s\n", sluice_last_error());
  sluice_context_free(context);
  sluice_model_close(model);
  return code != SLUICE_OK;
}

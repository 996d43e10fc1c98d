/* The same as 01_hello in C. The program owns the memory of the result.
 *
 *   02_hello_c digits.sluice
 */
#include "seven.h"
#include "sluice/sluice.h"

/* Runs the model on one image; 0 on success. */
static int32_t classify(sluice_model* model, float probabilities[10]) {
  static const int64_t dims[4] = {1, 1, 8, 8};
  const sluice_array image = {(void*)kSeven, sizeof(kSeven), 1, 4, dims};
  sluice_context* context = NULL;
  int32_t code = sluice_context_create(model, &context);
  if (code == SLUICE_OK) code = sluice_context_set_input(context, "image", &image);
  if (code == SLUICE_OK) {
    code = sluice_context_bind_output(context, "probabilities", probabilities, 10 * sizeof(float));
  }
  if (code == SLUICE_OK) code = sluice_context_run(context);
  sluice_context_free(context);
  return code;
}

int main(int argc, char** argv) {
  sluice_model* model = NULL;
  float probabilities[10] = {0};
  int32_t code = sluice_model_open(argc > 1 ? argv[1] : "digits.sluice", NULL, &model);
  if (code == SLUICE_OK) code = classify(model, probabilities);
  sluice_model_close(model);
  if (code != SLUICE_OK) {
    fprintf(stderr, "02_hello_c: %s\n", sluice_last_error());
    return 1;
  }
  print_digit(probabilities);
  return 0;
}

/* A program of the last release: compiled with the headers in tests/abi/recorded, run with the
 * libraries of today.
 *
 *   recorded_program digits.onnx digits.sluice
 *
 * Compiles the model to the second path and runs it in a context and in a runtime:
 * a struct of each kind that a caller fills, and of each kind that the library fills. */
#include <stdio.h>
#include <string.h>

#include "seven.h"
#include "sluice/compile.h"
#include "sluice/request.h"
#include "sluice/statistics.h"

static const int64_t kDims[4] = {1, 1, 8, 8};

/* Ends the program unless the call succeeded. */
#define MUST(call)                                                              \
  do {                                                                          \
    const sluice_code code = (call);                                            \
    if (code != SLUICE_OK) {                                                    \
      fprintf(stderr, "%s: %d: %s %s\n", #call, (int)code, sluice_last_error(), \
              sluice_compile_last_error());                                     \
      return 1;                                                                 \
    }                                                                           \
  } while (0)
#define CHECK(holds)                                  \
  do {                                                \
    if (!(holds)) {                                   \
      fprintf(stderr, "does not hold: %s\n", #holds); \
      return 1;                                       \
    }                                                 \
  } while (0)

static sluice_array image(void) {
  static float pixels[64];
  memcpy(pixels, kSeven, sizeof(pixels));
  const sluice_array array = {pixels, sizeof(pixels), 1, 4, kDims};
  return array;
}

static int is_seven(const sluice_array* array) {
  const float* p = array->data;
  for (int i = 0; i < 10; ++i) {
    if (p[i] > p[7]) return 0;
  }
  return array->element_type == 1 && array->rank == 2 && array->dims[1] == 10 &&
         array->size_bytes == 40;
}

static int compile(const char* model, const char* package) {
  sluice_compile_request request = {0};
  request.struct_size = sizeof(request);
  request.path = model;
  request.output = package;
  sluice_package* made = NULL;
  MUST(sluice_compile(&request, &made));
  CHECK(sluice_package_num_operations(made) > 0);
  sluice_package_free(made);
  return 0;
}

static int run_in_a_context(const char* package) {
  sluice_open_options options = {0};
  options.struct_size = sizeof(options);
  options.num_threads = 1;
  sluice_model* model = NULL;
  MUST(sluice_model_open(package, &options, &model));
  const sluice_tensor_spec* spec = sluice_model_input(model, 0);
  CHECK(strcmp(spec->name, "image") == 0 && spec->element_type == 1 && spec->rank == 4 &&
        spec->dims[3] == 8);
  sluice_context* context = NULL;
  MUST(sluice_context_create(model, &context));
  const sluice_array input = image();
  MUST(sluice_context_set_input(context, "image", &input));
  sluice_run_options run = {0};
  run.struct_size = sizeof(run);
  MUST(sluice_context_run_with(context, &run));
  sluice_array output;
  MUST(sluice_context_output(context, "probabilities", &output));
  CHECK(is_seven(&output));
  CHECK(sluice_context_output(context, "nothing", &output) == SLUICE_NOT_FOUND);
  sluice_context_free(context);
  sluice_model_close(model);
  return 0;
}

static int describe(sluice_runtime* runtime, uint64_t model) {
  const sluice_device_list* devices = NULL;
  MUST(sluice_runtime_devices(runtime, &devices));
  CHECK(devices->count > 0 && devices->items[0]->num_cores > 0 &&
        devices->items[0]->kind[0] != '\0');
  sluice_release(devices);
  const sluice_group_list* groups = NULL;
  MUST(sluice_runtime_groups(runtime, &groups));
  CHECK(groups->count == 1 && groups->items[0]->is_implicit && groups->items[0]->num_cores == 1);
  sluice_release(groups);
  const sluice_loaded_model* loaded = NULL;
  MUST(sluice_runtime_model(runtime, model, &loaded));
  CHECK(strcmp(loaded->name, "recorded") == 0 && loaded->depth == 2 &&
        loaded->phase == SLUICE_MODEL_STARTED);
  CHECK(loaded->num_outputs == 1 && loaded->footprint.depth == 2 && !loaded->is_on_demand);
  sluice_release(loaded);
  const sluice_model_statistics* statistics = NULL;
  MUST(sluice_runtime_statistics(runtime, model, &statistics));
  CHECK(statistics->accepted == 2 && statistics->num_answered == 1 && statistics->total.count == 2);
  CHECK(statistics->answered[0].runtime_code == SLUICE_RUNTIME_CODE_OK &&
        statistics->answered[0].count == 2);
  sluice_release(statistics);
  const sluice_health* health = NULL;
  MUST(sluice_runtime_health(runtime, model, &health));
  CHECK(health->state == SLUICE_HEALTH_HEALTHY && health->reason[0] == '\0');
  sluice_release(health);
  return 0;
}

static int run_in_a_runtime(const char* package) {
  sluice_runtime_options options = {0};
  options.struct_size = sizeof(options);
  sluice_runtime* runtime = NULL;
  MUST(sluice_runtime_create(&options, &runtime));
  sluice_load_options load = {0};
  load.struct_size = sizeof(load);
  load.path = package;
  load.name = "recorded";
  load.depth = 2;
  uint64_t model = 0;
  MUST(sluice_runtime_load(runtime, &load, &model));
  const sluice_named_array input = {"image", image()};
  float probabilities[10];
  const sluice_output_memory memory = {"probabilities", probabilities, sizeof(probabilities)};
  sluice_request_options request = {0};
  request.struct_size = sizeof(request);
  request.num_outputs = 1;
  request.outputs = &memory;
  for (int i = 0; i < 2; ++i) {
    sluice_reply* reply = NULL;
    MUST(sluice_runtime_infer(runtime, model, &input, 1, &request, &reply));
    sluice_array output;
    MUST(sluice_reply_output(reply, "probabilities", &output));
    CHECK(output.data == probabilities && is_seven(&output));
    CHECK(sluice_reply_runtime_code(reply) == SLUICE_RUNTIME_CODE_OK);
    sluice_reply_free(reply);
  }
  if (describe(runtime, model) != 0) return 1;
  MUST(sluice_runtime_unload(runtime, model, 0));
  CHECK(sluice_runtime_unload(runtime, model, 0) == SLUICE_NOT_FOUND);
  CHECK(sluice_last_error_runtime_code() == SLUICE_RUNTIME_CODE_INVALID_HANDLE);
  MUST(sluice_runtime_close(runtime, 0));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3 || compile(argv[1], argv[2]) != 0) return 1;
  return run_in_a_context(argv[2]) != 0 || run_in_a_runtime(argv[2]) != 0;
}

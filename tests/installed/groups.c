/* Loads a model twice on one core group, where the two take turns, and once on a group of its own.
 *
 *   groups digits.sluice
 */
#include <inttypes.h>

#include "../../examples/seven.h"
#include "sluice/request.h"

static int fail(void) {
  fprintf(stderr, "groups: %s\n%s\n", sluice_last_error(), sluice_last_error_remedy());
  return 1;
}

static int load(sluice_runtime* runtime, const char* path, const char* name, uint64_t group,
                uint64_t* model) {
  sluice_load_options options = {0};
  options.struct_size = sizeof(options);
  options.path = path;
  options.name = name;
  options.group = group;
  return sluice_runtime_load(runtime, &options, model);
}

static int infer(sluice_runtime* runtime, uint64_t model) {
  const int64_t dims[4] = {1, 1, 8, 8};
  const sluice_named_array input = {"image", {(void*)kSeven, sizeof(kSeven), 1, 4, dims}};
  sluice_reply* reply = NULL;
  if (sluice_runtime_infer(runtime, model, &input, 1, NULL, &reply) != 0) return fail();
  sluice_array output;
  sluice_reply_output(reply, "probabilities", &output);
  print_digit((const float*)output.data);
  sluice_reply_free(reply);
  return 0;
}

static int print_groups(sluice_runtime* runtime) {
  const sluice_group_list* groups = NULL;
  if (sluice_runtime_groups(runtime, &groups) != 0) return fail();
  for (size_t i = 0; i < groups->count; ++i) {
    const sluice_group_info* group = groups->items[i];
    printf("group %" PRIu64 ": %zu cores, %d models, active: %s\n", group->group, group->num_cores,
           group->num_models, group->active_model);
  }
  sluice_release(groups);
  return 0;
}

static int run(sluice_runtime* runtime, const char* path) {
  sluice_group_options options = {0};
  options.struct_size = sizeof(options);
  options.num_cores = 1;
  uint64_t group = 0, day = 0, night = 0;
  if (sluice_runtime_create_group(runtime, &options, &group) != 0) return fail();
  if (load(runtime, path, "day", group, &day) != 0) return fail();
  if (load(runtime, path, "night", group, &night) != 0) return fail();

  if (sluice_runtime_start(runtime, day) != 0) return fail();
  if (infer(runtime, day) != 0) return 1;
  if (sluice_runtime_stop(runtime, day, 1000000000) != 0) return fail();
  if (sluice_runtime_start(runtime, night) != 0) return fail();
  if (infer(runtime, night) != 0) return 1;

  return print_groups(runtime);
}

int main(int argc, char** argv) {
  sluice_runtime* runtime = NULL;
  if (sluice_runtime_create(NULL, &runtime) != 0) return fail();
  const int result = run(runtime, argc > 1 ? argv[1] : "digits.sluice");
  sluice_runtime_close(runtime, 0);
  return result;
}

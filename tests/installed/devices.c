/* What a machine has, and how a program gets cores of it: by kind, by device, at once or after
 * waiting.
 *
 *   devices digits.sluice                          a simulated machine: two devices of two cores
 *   devices digits.sluice unix:/run/sluice.sock    the machine of a daemon
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sluice/runtime.h"

static const char kMachine[] =
    "{\"devices\": [{\"count\": 2, \"cores\": 2, \"name\": \"twin {}\"}],"
    " \"links\": [{\"a\": 0, \"b\": 1, \"bytes_per_s\": 2.5e10, \"latency_ns\": 700}]}";

static void show(int holds, const char* claim) {
  printf("%s %s\n", holds ? "holds:" : "DOES NOT HOLD:", claim);
  if (!holds) {
    fprintf(stderr, "last error: %s\n", sluice_last_error());
    exit(1);
  }
}

static int32_t make_group(sluice_runtime* runtime, const char* kind, int32_t device,
                          int32_t num_cores, int64_t timeout_ns, uint64_t* group) {
  sluice_group_options options = {0};
  options.struct_size = sizeof(options);
  options.kind = kind;
  options.devices = &device;
  options.num_devices = device < 0 ? 0 : 1;
  options.num_cores = num_cores;
  options.timeout_ns = timeout_ns;
  return sluice_runtime_create_group(runtime, &options, group);
}

static sluice_runtime* simulated(void) {
  char path[] = "/tmp/sluice-machine-XXXXXX";
  const int fd = mkstemp(path);
  sluice_runtime* runtime = NULL;
  sluice_runtime_options options = {0};
  show(fd >= 0 && write(fd, kMachine, sizeof(kMachine) - 1) > 0, "the machine is described");
  options.struct_size = sizeof(options);
  options.simulated_machine = path;
  show(sluice_runtime_create(&options, &runtime) == 0, "a runtime manages the simulated devices");
  close(fd);
  unlink(path);
  return runtime;
}

struct waiter {
  sluice_runtime* runtime;
  uint64_t group;
  int32_t status;
};

static void* wait_for_cores(void* argument) {
  struct waiter* waiter = argument;
  waiter->status = make_group(waiter->runtime, NULL, -1, 4, -1, &waiter->group);
  return NULL;
}

/* Who wants cores of somebody else: refused at once, after a deadline, or served when they return.
 */
static void wait_policies(sluice_runtime* runtime) {
  uint64_t all = 0, none = 0;
  struct waiter waiter = {runtime, 0, -1};
  pthread_t thread;
  show(make_group(runtime, NULL, -1, 4, 0, &all) == 0,
       "a group takes both devices, which are linked");
  show(make_group(runtime, NULL, -1, 1, 0, &none) == 8 &&
           sluice_last_error_runtime_code() == SLUICE_RUNTIME_CODE_NOT_ENOUGH_CORES,
       "the next one is refused at once");
  printf("       %s\n", sluice_last_error());
  show(make_group(runtime, NULL, -1, 1, 1000000, &none) == 4, "or waits a millisecond in vain");
  show(pthread_create(&thread, NULL, wait_for_cores, &waiter) == 0, "a thread waits without limit");
  sluice_runtime_destroy_group(runtime, all);
  pthread_join(thread, NULL);
  show(waiter.status == 0, "and gets the cores when they are returned");
  sluice_runtime_destroy_group(runtime, waiter.group);
}

static void pick(sluice_runtime* runtime) {
  const sluice_device_list* devices = NULL;
  const sluice_group_list* groups = NULL;
  uint64_t group = 0;
  show(sluice_runtime_devices(runtime, &devices) == 0 && devices->count > 0,
       "the runtime lists its devices");
  for (size_t i = 0; i < devices->count; ++i) {
    const sluice_device* device = devices->items[i];
    printf("       device %d, %s \"%s\": %d cores\n", device->id, device->kind, device->name,
           device->num_cores);
  }
  const sluice_device* last = devices->items[devices->count - 1];
  show(make_group(runtime, last->kind, last->id, 1, 0, &group) == 0 &&
           sluice_runtime_groups(runtime, &groups) == 0,
       "a group gets a core of the kind and the device that it asks for");
  show(groups->items[groups->count - 1]->cores[0].device == last->id, "and no other one");
  sluice_release(groups);
  sluice_release(devices);
  sluice_runtime_destroy_group(runtime, group);
  show(make_group(runtime, "abacus", -1, 1, 0, &group) != 0, "a kind that nobody has is refused");
  printf("       %s\n", sluice_last_error());
}

int main(int argc, char** argv) {
  sluice_runtime* runtime = NULL;
  if (argc > 2) {
    show(sluice_runtime_connect(argv[2], NULL, &runtime) == 0, "a daemon owns the devices");
    pick(runtime);
  } else {
    runtime = simulated();
    pick(runtime);
    wait_policies(runtime);
  }
  sluice_runtime_close(runtime, 0);
  return 0;
}

/* The extension "sluice.virtual_time/1" of a plug-in that simulates its devices: a virtual clock,
 * an event log, and faults on demand.
 *
 * Time is in nanoseconds since the creation of the backend. It advances in three functions:
 * `stream_wait`, which runs the simulation until the stream is done or the timeout has passed,
 * `stream_destroy`, and `advance_to`. Conventions as in sluice/backend.h. Functions are safe from
 * several threads at once. */
#ifndef SLUICE_EXTENSIONS_VIRTUAL_TIME_H_
#define SLUICE_EXTENSIONS_VIRTUAL_TIME_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VIRTUAL_TIME "sluice.virtual_time/1"

typedef struct sluice_virtual_time {
  uint32_t struct_size;
  int64_t (*now_ns)(sluice_backend* backend);
  /* Time of the next event without further submissions; INT64_MAX for none. */
  int64_t (*next_event_ns)(sluice_backend* backend);
  /* Processes all events up to and including `time_ns` and sets the clock to `time_ns`. An earlier
   * time than now has no effect. */
  void (*advance_to)(sluice_backend* backend, int64_t time_ns);

  /* Current size of the log: a line of text per event, each ends in '\n'. */
  int64_t (*log_size_bytes)(sluice_backend* backend);
  /* Copies up to `capacity_bytes` of the log from `offset_bytes` on. Returns the number of bytes.
   */
  int64_t (*read_log)(sluice_backend* backend, int64_t offset_bytes, char* target,
                      int64_t capacity_bytes);

  /* Adds a fault. `fault` is JSON text, an entry of a description's "faults" (docs/sim.md). `id`
   * receives its number for clear_fault. Fails: SLUICE_INVALID_ARGUMENT. */
  sluice_code (*inject_fault)(sluice_backend* backend, const char* fault, int64_t* id,
                              sluice_message* message);
  /* Removes a fault, or all faults for -1; work that hangs because of the fault completes.
   * Fails: SLUICE_NOT_FOUND. */
  sluice_code (*clear_fault)(sluice_backend* backend, int64_t id, sluice_message* message);
  /* Resets a device. Running work fails with SLUICE_UNAVAILABLE. A lost device works again with its
   * allocations intact; work that was submitted to it has failed. */
  sluice_code (*reset_device)(sluice_backend* backend, int32_t device, sluice_message* message);

  /* Bytes allocated by memory_allocate and not yet freed; -1 for an unknown device. */
  int64_t (*memory_used_bytes)(sluice_backend* backend, int32_t device);
} sluice_virtual_time;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_VIRTUAL_TIME_H_ */

/* The extension "sluice.virtual_time/1" of a plug-in that simulates its devices: its clock, which
 * moves only when somebody waits or says so, its log of events, and faults on demand.
 *
 * Time is in nanoseconds since the backend was created. It moves in `stream_wait`, which runs the
 * simulation until the stream is done or the timeout has passed, in `stream_destroy`, and here.
 * Conventions as in sluice/backend.h. Functions may be called by several threads at once. */
#ifndef SLUICE_VIRTUAL_TIME_H_
#define SLUICE_VIRTUAL_TIME_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VIRTUAL_TIME "sluice.virtual_time/1"

typedef struct sluice_virtual_time {
  uint32_t struct_size;
  int64_t (*now_ns)(sluice_backend* backend);
  /* When something will happen next if nothing more is submitted; INT64_MAX for never. */
  int64_t (*next_event_ns)(sluice_backend* backend);
  /* Lets everything up to and at `time_ns` happen; then it is `time_ns`. A time that has passed
   * changes nothing. */
  void (*advance_to)(sluice_backend* backend, int64_t time_ns);

  /* Bytes of the log so far: a line of text per event, '\n' behind each. */
  int64_t (*log_size_bytes)(sluice_backend* backend);
  /* Copies as much of the log from `offset_bytes` as there is and fits; tells how much. */
  int64_t (*read_log)(sluice_backend* backend, int64_t offset_bytes, char* target,
                      int64_t capacity_bytes);

  /* `fault`: JSON text, an entry of a description's "faults". `id` names it for clear_fault. */
  sluice_code (*inject_fault)(sluice_backend* backend, const char* fault, int64_t* id,
                              sluice_message* message);
  /* Ends a fault, and lets what hangs because of it complete. -1 for all.
   * Fails: SLUICE_NOT_FOUND. */
  sluice_code (*clear_fault)(sluice_backend* backend, int64_t id, sluice_message* message);
  /* A lost device comes back, its memory as allocated; what was submitted to it has failed. On any
   * other device too, running work fails with SLUICE_UNAVAILABLE. */
  sluice_code (*reset_device)(sluice_backend* backend, int32_t device, sluice_message* message);

  /* Bytes that memory_allocate gave and memory_free has not had back; -1 for no such device. */
  int64_t (*memory_used_bytes)(sluice_backend* backend, int32_t device);
} sluice_virtual_time;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_VIRTUAL_TIME_H_ */

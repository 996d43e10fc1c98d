/* The extension "sluice.step_times/1" of a plug-in: it reports the duration of each step of a
 * command list to an observer. Conventions as in sluice/backend.h. */
#ifndef SLUICE_EXTENSIONS_STEP_TIMES_H_
#define SLUICE_EXTENSIONS_STEP_TIMES_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_STEP_TIMES "sluice.step_times/1"

/* A kernel or copy that has run. Its texts are valid during the observer call. */
typedef struct sluice_step_time {
  uint32_t struct_size;
  uint32_t reserved;
  const char* kind; /* "Conv+Relu", "copy", "Unique (generic)" for a generic kernel */
  const char* name; /* name of the operation; "" without one */
  int64_t start_ns; /* on CLOCK_MONOTONIC */
  int64_t duration_ns;
} sluice_step_time;

/* Receives `steps[i]` in the order of execution. Must not call the plug-in. */
typedef void (*sluice_step_observer)(void* user_data, const sluice_step_time* steps,
                                     int32_t num_steps);

typedef struct sluice_step_times {
  uint32_t struct_size;
  /* Registers `observer` for the calling thread; null removes it. Every list_submit of this thread,
   * to any group of the plug-in, then calls `observer` on this thread, after its list has run and
   * before it returns. Lists of other threads are not reported. Observed lists may take slightly
   * longer. */
  void (*observe)(sluice_backend* backend, sluice_step_observer observer, void* user_data);
} sluice_step_times;

/* The extension "sluice.list_memory/1" of a plug-in: the number of bytes that a command list holds,
 * so that the host can bound what it keeps recorded. Without the extension the host estimates. */
#define SLUICE_LIST_MEMORY "sluice.list_memory/1"

typedef struct sluice_list_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* Bytes of a finished list, its scratch memory included, its kernels not. */
  int64_t (*held_bytes)(const sluice_command_list* list);
} sluice_list_memory;

/* The extension "sluice.list_exchange/1" of a plug-in: a finished list gets kernels for other
 * shapes, so that a run of new shapes records what has changed. Without the extension the host
 * records whole lists. */
#define SLUICE_LIST_EXCHANGE "sluice.list_exchange/1"

typedef struct sluice_list_exchange {
  uint32_t struct_size;
  uint32_t reserved;
  /* Entry `entries[i]` of a finished list that does not run, counted from 0 in the order in which
   * kernels and copies were added, gets `kernels[i]`: one of the same operation, for other shapes.
   * Arguments stay. After an error the host does not submit the list before an exchange of all its
   * kernels succeeds. */
  sluice_code (*exchange)(sluice_command_list* list, const int32_t* entries,
                          sluice_kernel* const* kernels, int32_t count, sluice_message* message);
} sluice_list_exchange;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_STEP_TIMES_H_ */

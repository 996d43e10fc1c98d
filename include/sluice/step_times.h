/* The extension "sluice.step_times/1" of a plug-in: what the steps of a command list took, told to
 * whoever asks while they run. Conventions as in sluice/backend.h. */
#ifndef SLUICE_STEP_TIMES_H_
#define SLUICE_STEP_TIMES_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_STEP_TIMES "sluice.step_times/1"

/* A kernel or copy that has run. Texts are valid during the call that brings them. */
typedef struct sluice_step_time {
  uint32_t struct_size;
  uint32_t reserved;
  const char* kind; /* "Conv+Relu", "copy" */
  const char* name; /* of the operation; "" where there is none */
  int64_t start_ns; /* on CLOCK_MONOTONIC */
  int64_t duration_ns;
} sluice_step_time;

/* `steps[i]`, in the order in which they ran. Must not call the plug-in. */
typedef void (*sluice_step_observer)(void* user, const sluice_step_time* steps, int32_t num_steps);

typedef struct sluice_step_times {
  uint32_t struct_size;
  /* From now on every list_submit of the calling thread, to any group of the plug-in's, calls
   * `observer` on this thread, after its list has run and before it returns; null ends that. Of
   * other threads nothing is told. Lists that are observed may take a little longer. */
  void (*observe)(sluice_backend* backend, sluice_step_observer observer, void* user);
} sluice_step_times;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_STEP_TIMES_H_ */

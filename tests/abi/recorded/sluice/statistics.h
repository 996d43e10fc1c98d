#ifndef SLUICE_STATISTICS_H_
#define SLUICE_STATISTICS_H_
#include "sluice/runtime.h"
typedef struct sluice_latency {
  int64_t count;
  int64_t sum_ns;
  int64_t p50_ns;
  int64_t p90_ns;
  int64_t p99_ns;
  int64_t max_ns;
} sluice_latency;
typedef struct sluice_runtime_code_count {
  sluice_runtime_code runtime_code;
  int64_t count;
} sluice_runtime_code_count;
typedef struct sluice_model_statistics {
  uint64_t model;
  int64_t accepted;
  int64_t refused;
  int64_t waiting;
  int64_t max_waiting;
  int64_t num_starts;
  int64_t busy_ns;
  size_t num_answered;
  const sluice_runtime_code_count* answered;
  sluice_latency queue;
  sluice_latency copy;
  sluice_latency compute;
  sluice_latency total;
  int64_t recorded_bytes;
  int64_t joined;
} sluice_model_statistics;
SLUICE_API sluice_code sluice_runtime_statistics(sluice_runtime* runtime, uint64_t model,
                                                 const sluice_model_statistics** statistics);
enum { SLUICE_HEALTH_HEALTHY = 0, SLUICE_HEALTH_DEGRADED = 1, SLUICE_HEALTH_FAILED = 2 };
typedef struct sluice_health {
  int32_t state;
  const char* reason;
  const char* action;
} sluice_health;
SLUICE_API sluice_code sluice_runtime_health(sluice_runtime* runtime, uint64_t model,
                                             const sluice_health** health);
typedef struct sluice_profile_options {
  uint32_t struct_size;
  int32_t reserved;
  uint64_t group;
  uint64_t model;
  int64_t limit_ns;
  int64_t max_spans;
} sluice_profile_options;
SLUICE_API sluice_code sluice_runtime_start_profile(sluice_runtime* runtime,
                                                    const sluice_profile_options* options,
                                                    uint64_t* profile);
enum {
  SLUICE_SPAN_REQUEST = 0,
  SLUICE_SPAN_QUEUE = 1,
  SLUICE_SPAN_COPY_IN = 2,
  SLUICE_SPAN_COMPUTE = 3,
  SLUICE_SPAN_COPY_OUT = 4,
  SLUICE_SPAN_OPERATION = 5
};
typedef struct sluice_span {
  int32_t kind;
  sluice_runtime_code runtime_code;
  const char* model;
  const char* name;
  uint64_t request;
  uint32_t lane;
  int64_t start_ns;
  int64_t duration_ns;
} sluice_span;
typedef struct sluice_profile {
  size_t count;
  const sluice_span* const* spans;
  int64_t num_dropped;
  int64_t start_ns;
  int64_t duration_ns;
} sluice_profile;
SLUICE_API sluice_code sluice_runtime_stop_profile(sluice_runtime* runtime, uint64_t id,
                                                   const sluice_profile** profile);
#endif

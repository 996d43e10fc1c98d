/* Statistics, health and profiles of a runtime, local or a daemon. Conventions as in
 * sluice/runtime.h; results are freed with sluice_release. */
#ifndef SLUICE_STATISTICS_H_
#define SLUICE_STATISTICS_H_

#include "sluice/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Durations of requests. Quantiles are exact to an eighth of their value. */
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

/* Counts of a model since its load. */
typedef struct sluice_model_statistics {
  uint64_t model;
  int64_t accepted;    /* requests */
  int64_t refused;     /* requests */
  int64_t waiting;     /* requests beyond the depth now */
  int64_t max_waiting; /* the most that waited */
  int64_t num_starts;
  int64_t busy_ns; /* time with at least one running segment */
  size_t num_answered;
  const sluice_runtime_code_count* answered; /* [num_answered], replies by runtime code; no zeros */
  sluice_latency queue;                      /* from submission to the first segment */
  sluice_latency copy;                       /* in and out */
  sluice_latency compute;
  sluice_latency total;   /* from submission to the reply */
  int64_t recorded_bytes; /* kept for shapes of earlier requests, by all slots together */
  int64_t joined;         /* requests that ran together with others */
} sluice_model_statistics;

/* Fails: NOT_FOUND, also for a model on demand that is not in memory. */
SLUICE_API sluice_code sluice_runtime_statistics(sluice_runtime* runtime, uint64_t model,
                                                 const sluice_model_statistics** statistics);

enum {
  SLUICE_HEALTH_HEALTHY = 0,
  SLUICE_HEALTH_DEGRADED = 1, /* a device was lost, or one reply in a hundred failed or was late */
  SLUICE_HEALTH_FAILED = 2    /* out of service */
};

typedef struct sluice_health {
  int32_t state;      /* SLUICE_HEALTH_ */
  const char* reason; /* "" if healthy */
  const char* action; /* to take; "" if none */
} sluice_health;

/* Fails: as sluice_runtime_statistics. */
SLUICE_API sluice_code sluice_runtime_health(sluice_runtime* runtime, uint64_t model,
                                             const sluice_health** health);

/* A profile records the spans that end between its start and its stop. */
typedef struct sluice_profile_options {
  uint32_t struct_size;
  int32_t reserved;
  uint64_t group;    /* records this group; 0: all */
  uint64_t model;    /* records this model; 0: all */
  int64_t limit_ns;  /* recording ends by itself; 0: 10 minutes */
  int64_t max_spans; /* new spans replace the oldest; 0: 262144 */
} sluice_profile_options;

/* `options` may be null. Fails: RESOURCE_EXHAUSTED while four profiles record; NOT_FOUND.
 */
SLUICE_API sluice_code sluice_runtime_start_profile(sluice_runtime* runtime,
                                                    const sluice_profile_options* options,
                                                    uint64_t* profile);

enum {
  SLUICE_SPAN_REQUEST = 0,  /* from submission to reply */
  SLUICE_SPAN_QUEUE = 1,    /* from submission to the first segment */
  SLUICE_SPAN_COPY_IN = 2,  /* to the device's memory */
  SLUICE_SPAN_COMPUTE = 3,  /* one segment; the whole model if its shapes are dynamic */
  SLUICE_SPAN_COPY_OUT = 4, /* to the host's memory */
  SLUICE_SPAN_OPERATION = 5 /* within a COMPUTE of the same request and lane */
};

typedef struct sluice_span {
  int32_t kind;                     /* SLUICE_SPAN_ */
  sluice_runtime_code runtime_code; /* of a request */
  const char* model;                /* its name */
  const char* name;                 /* of an operation; else "" */
  uint64_t request;                 /* number of the request within its model */
  uint32_t lane;                    /* of the model's pipeline */
  int64_t start_ns;                 /* on a monotonic clock */
  int64_t duration_ns;
} sluice_span;

typedef struct sluice_profile {
  size_t count;
  const sluice_span* const* spans; /* [count], in the order of their ends */
  int64_t num_dropped;             /* older spans that were replaced */
  int64_t start_ns;
  int64_t duration_ns; /* of the recording */
} sluice_profile;

/* Ends a profile. Blocks. Fails: NOT_FOUND. */
SLUICE_API sluice_code sluice_runtime_stop_profile(sluice_runtime* runtime, uint64_t id,
                                                   const sluice_profile** profile);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_STATISTICS_H_ */

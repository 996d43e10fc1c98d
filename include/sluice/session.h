/* Sessions and queues in C: a model whose tensors have sources and sinks.
 *
 *   queues   per tensor a ring of pointers to the caller's memory; a loaded model of a runtime
 *            takes the next entries by itself and calls back when it is done with them
 *   session  a package with its programs load, main and save: every tensor gets a value, memory or
 *            a callback; a tensor without any is reported before a run
 *
 * Conventions as in sluice/runtime.h. Both run in this process: on a daemon's runtime queues fail
 * with UNIMPLEMENTED.
 */
#ifndef SLUICE_SESSION_H_
#define SLUICE_SESSION_H_

#include "sluice/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- queues of a loaded model --------------------------------------------------------------- */

typedef struct sluice_queue_options {
  uint32_t struct_size;
  int32_t capacity; /* entries of each queue; 0: twice the model's depth */
} sluice_queue_options;

/* Called once for every entry that was enqueued, on any thread: the memory is the caller's again.
 * `runtime_code` is SLUICE_RUNTIME_CODE_OK, SLUICE_RUNTIME_CODE_CANCELLED if the queues were
 * closed, or the request's error.
 * `size_bytes` is an output's actual size. It must not block; it may enqueue with timeout_ns 0. */
typedef void (*sluice_queue_callback)(void* user_data, sluice_runtime_code runtime_code,
                                      int64_t size_bytes);

/* Opens a queue for every output of a started model and every input without a default. When every
 * queue has an entry and the model has room, the first entries become a request, which reads and
 * writes their memory without copies. Requests start in the order of the entries. `options` may be
 * null. Fails: NOT_FOUND for an unknown model; INVALID_ARGUMENT if a tensor's shape does
 * not follow from a size in bytes: only the first dimension may vary. */
SLUICE_API sluice_code sluice_runtime_open_queues(sluice_runtime* runtime, uint64_t model,
                                                  const sluice_queue_options* options,
                                                  uint64_t* queues);

/* Adds memory to the queue of the tensor `name`, borrowed until `on_done`, which may be null. From
 * any thread; entries of several tensors meet in the order in which they came. Waits at most
 * `timeout_ns` while the queue is full: 0 does not wait, -1 waits without limit. Blocks if
 * timeout_ns is not 0. Fails: RESOURCE_EXHAUSTED, runtime code QUEUE_FULL; INVALID_ARGUMENT for
 * null or another size than the tensor's; NOT_FOUND; FAILED_PRECONDITION once the queues are
 * closed. */
SLUICE_API sluice_code sluice_runtime_enqueue(sluice_runtime* runtime, uint64_t queues,
                                              const char* name, void* data, int64_t size_bytes,
                                              sluice_queue_callback on_done, void* user_data,
                                              int64_t timeout_ns);

/* Returns waiting entries with CANCELLED and waits for running requests; every callback has
 * returned at the end. sluice_runtime_close does it for all queues. Blocks. Fails: NOT_FOUND.
 */
SLUICE_API sluice_code sluice_runtime_close_queues(sluice_runtime* runtime, uint64_t queues);

/* ---- sessions ------------------------------------------------------------------------------- */

/* Use a session from one thread at a time. */
typedef struct sluice_session sluice_session;

enum {
  SLUICE_PROGRAM_LOAD = 0, /* moves constants and stored tensors to the device, once */
  SLUICE_PROGRAM_MAIN = 1, /* computes outputs from inputs, any number of times */
  SLUICE_PROGRAM_SAVE = 2  /* passes constants with a sink to their sinks */
};

enum { SLUICE_TENSOR_CONSTANT = 0, SLUICE_TENSOR_INPUT = 1, SLUICE_TENSOR_OUTPUT = 2 };

typedef struct sluice_program_tensor {
  const char* name;
  const char* type; /* "f32[8,3]" */
  int32_t role;     /* SLUICE_TENSOR_ */
  int32_t program;  /* SLUICE_PROGRAM_ that moves it */
} sluice_program_tensor;

/* Whether a stored tensor is bound by itself: not 0 for yes. */
typedef int32_t (*sluice_bind_predicate)(void* user_data, const sluice_program_tensor* tensor);

typedef struct sluice_session_options {
  uint32_t struct_size;
  int32_t num_threads;                /* cores; 0: all that the process may use */
  const char* backend_dir;            /* folder of plug-ins; null: as sluice_open_options */
  const char* stored_folder;          /* NAME.npy files of tensor data; null: none */
  sluice_bind_predicate binds_stored; /* null: binds all of them */
  void* user_data;                    /* of binds_stored */
  int32_t has_seed;                   /* as sluice_open_options */
  int32_t reserved;
  uint64_t seed; /* of random operators */
} sluice_session_options;

/* Opens the package at `path`. `options` may be null. Free with sluice_session_free.
 * Fails: as sluice_model_open; NOT_FOUND for a missing folder; INVALID_ARGUMENT for stored
 * data that fits no tensor. */
SLUICE_API sluice_code sluice_session_create(const char* path,
                                             const sluice_session_options* options,
                                             sluice_session** session);
/* Null is allowed. */
SLUICE_API void sluice_session_free(sluice_session* session);

/* Named constants, then inputs, then outputs. */
SLUICE_API size_t sluice_session_num_tensors(const sluice_session* session);
/* Null if the index is out of range; lives as long as the session. */
SLUICE_API const sluice_program_tensor* sluice_session_tensor(const sluice_session* session,
                                                              size_t index);

/* Fills `target`, or reads `source`, during the call. Returns SLUICE_OK, or a code that fails
 * the program. */
typedef sluice_code (*sluice_tensor_callback)(void* user_data, const sluice_array* array);

/* Memory that every run reads; a constant's is copied by the load. Replaces an earlier source.
 * Fails: NOT_FOUND; INVALID_ARGUMENT for an output or another type or shape;
 * FAILED_PRECONDITION for a constant after the load. */
SLUICE_API sluice_code sluice_session_bind_source(sluice_session* session, const char* name,
                                                  const sluice_array* array);
/* A function that fills the tensor whenever a program needs it; for tensors of known shape. */
SLUICE_API sluice_code sluice_session_bind_provider(sluice_session* session, const char* name,
                                                    sluice_tensor_callback provider,
                                                    void* user_data);
/* Memory that every run writes: an output by main, a constant by save. */
SLUICE_API sluice_code sluice_session_bind_sink(sluice_session* session, const char* name,
                                                void* data, int64_t capacity_bytes);
/* A function that is called with the tensor. */
SLUICE_API sluice_code sluice_session_bind_consumer(sluice_session* session, const char* name,
                                                    sluice_tensor_callback consumer,
                                                    void* user_data);

/* Whether every tensor that the program moves has a source or a sink.
 * Fails: FAILED_PRECONDITION; the message names the tensors. */
SLUICE_API sluice_code sluice_session_verify(const sluice_session* session, int32_t program);
/* Runs a program: load once, then main and save in any order. Blocks.
 * Fails: as sluice_session_verify; FAILED_PRECONDITION in another order; the code of a
 * callback; errors of the model's operations. */
SLUICE_API sluice_code sluice_session_run(sluice_session* session, int32_t program);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_SESSION_H_ */

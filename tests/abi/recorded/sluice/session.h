#ifndef SLUICE_SESSION_H_
#define SLUICE_SESSION_H_
#include "sluice/runtime.h"
typedef struct sluice_queue_options {
  uint32_t struct_size;
  int32_t capacity;
} sluice_queue_options;
typedef void (*sluice_queue_callback)(void* user_data, sluice_runtime_code runtime_code,
                                      int64_t size_bytes);
SLUICE_API sluice_code sluice_runtime_open_queues(sluice_runtime* runtime, uint64_t model,
                                                  const sluice_queue_options* options,
                                                  uint64_t* queues);
SLUICE_API sluice_code sluice_runtime_enqueue(sluice_runtime* runtime, uint64_t queues,
                                              const char* name, void* data, int64_t size_bytes,
                                              sluice_queue_callback on_done, void* user_data,
                                              int64_t timeout_ns);
SLUICE_API sluice_code sluice_runtime_close_queues(sluice_runtime* runtime, uint64_t queues);
typedef struct sluice_session sluice_session;
enum { SLUICE_PROGRAM_LOAD = 0, SLUICE_PROGRAM_MAIN = 1, SLUICE_PROGRAM_SAVE = 2 };
enum { SLUICE_TENSOR_CONSTANT = 0, SLUICE_TENSOR_INPUT = 1, SLUICE_TENSOR_OUTPUT = 2 };
typedef struct sluice_program_tensor {
  const char* name;
  const char* type;
  int32_t role;
  int32_t program;
} sluice_program_tensor;
typedef int32_t (*sluice_bind_predicate)(void* user_data, const sluice_program_tensor* tensor);
typedef struct sluice_session_options {
  uint32_t struct_size;
  int32_t num_threads;
  const char* backend_dir;
  const char* stored_folder;
  sluice_bind_predicate binds_stored;
  void* user_data;
  int32_t has_seed;
  int32_t reserved;
  uint64_t seed;
} sluice_session_options;
SLUICE_API sluice_code sluice_session_create(const char* path,
                                             const sluice_session_options* options,
                                             sluice_session** session);
SLUICE_API void sluice_session_free(sluice_session* session);
SLUICE_API size_t sluice_session_num_tensors(const sluice_session* session);
SLUICE_API const sluice_program_tensor* sluice_session_tensor(const sluice_session* session,
                                                              size_t index);
typedef sluice_code (*sluice_tensor_callback)(void* user_data, const sluice_array* array);
SLUICE_API sluice_code sluice_session_bind_source(sluice_session* session, const char* name,
                                                  const sluice_array* array);
SLUICE_API sluice_code sluice_session_bind_provider(sluice_session* session, const char* name,
                                                    sluice_tensor_callback provider,
                                                    void* user_data);
SLUICE_API sluice_code sluice_session_bind_sink(sluice_session* session, const char* name,
                                                void* data, int64_t capacity_bytes);
SLUICE_API sluice_code sluice_session_bind_consumer(sluice_session* session, const char* name,
                                                    sluice_tensor_callback consumer,
                                                    void* user_data);
SLUICE_API sluice_code sluice_session_verify(const sluice_session* session, int32_t program);
SLUICE_API sluice_code sluice_session_run(sluice_session* session, int32_t program);
#endif

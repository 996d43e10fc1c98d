#ifndef SLUICE_REQUEST_H_
#define SLUICE_REQUEST_H_
#include "sluice/runtime.h"
typedef struct sluice_reply sluice_reply;
typedef struct sluice_named_array {
  const char* name;
  sluice_array array;
} sluice_named_array;
typedef struct sluice_output_memory {
  const char* name;
  void* data;
  int64_t capacity_bytes;
} sluice_output_memory;
typedef void (*sluice_reply_callback)(void* user_data, uint64_t request, sluice_code code,
                                      sluice_reply* reply);
typedef struct sluice_shared_memory {
  void* data;
  int64_t size_bytes;
} sluice_shared_memory;
SLUICE_API sluice_code sluice_runtime_share(sluice_runtime* runtime, int64_t size_bytes,
                                            const sluice_shared_memory** memory);
typedef struct sluice_exchanged_input {
  const char* name;
  uint64_t exchange;
} sluice_exchanged_input;
typedef struct sluice_request_options {
  uint32_t struct_size;
  int32_t priority;
  int64_t timeout_ns;
  int32_t wants_detail;
  int32_t num_outputs;
  const sluice_output_memory* outputs;
  sluice_reply_callback on_done;
  void* user_data;
  int32_t num_exchanged;
  int32_t num_kept;
  const sluice_exchanged_input* exchanged;
  const char* const* kept;
  int64_t ttl_ns;
  const char* traceparent;
  const char* tracestate;
  int32_t is_posted;
} sluice_request_options;
SLUICE_API sluice_code sluice_runtime_infer(sluice_runtime* runtime, uint64_t model,
                                            const sluice_named_array* inputs, size_t num_inputs,
                                            const sluice_request_options* options,
                                            sluice_reply** reply);
SLUICE_API sluice_code sluice_runtime_submit(sluice_runtime* runtime, uint64_t model,
                                             const sluice_named_array* inputs, size_t num_inputs,
                                             const sluice_request_options* options,
                                             uint64_t* request);
SLUICE_API sluice_code sluice_runtime_poll(sluice_runtime* runtime, uint64_t request,
                                           sluice_reply** reply);
SLUICE_API sluice_code sluice_runtime_wait(sluice_runtime* runtime, uint64_t request,
                                           int64_t timeout_ns, sluice_reply** reply);
SLUICE_API sluice_code sluice_runtime_cancel(sluice_runtime* runtime, uint64_t request);
SLUICE_API sluice_runtime_code sluice_reply_runtime_code(const sluice_reply* reply);
SLUICE_API size_t sluice_reply_num_outputs(const sluice_reply* reply);
SLUICE_API const char* sluice_reply_output_name(const sluice_reply* reply, size_t index);
SLUICE_API sluice_code sluice_reply_output(const sluice_reply* reply, const char* name,
                                           sluice_array* array);
SLUICE_API sluice_code sluice_reply_exchange(const sluice_reply* reply, const char* name,
                                             uint64_t* exchange);
typedef struct sluice_reply_detail_info {
  uint64_t group;
  int64_t queue_ns;
  int64_t copy_ns;
  int64_t compute_ns;
  size_t num_cores;
  const int32_t* cores;
  size_t num_segments;
  const char* const* backends;
} sluice_reply_detail_info;
SLUICE_API const sluice_reply_detail_info* sluice_reply_detail(const sluice_reply* reply);
SLUICE_API void sluice_reply_free(sluice_reply* reply);
SLUICE_API sluice_code sluice_runtime_put_tensor(sluice_runtime* runtime, const sluice_array* array,
                                                 int64_t ttl_ns, uint64_t* exchange);
SLUICE_API sluice_code sluice_runtime_get_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                 sluice_reply** reply);
SLUICE_API sluice_code sluice_runtime_remove_tensor(sluice_runtime* runtime, uint64_t exchange);
#define SLUICE_TENSOR_OF_HOST (-1)
SLUICE_API sluice_code sluice_runtime_bring_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                   int32_t device, int32_t* from);
typedef struct sluice_tensor_offer {
  uint64_t exchange;
  const char* key;
} sluice_tensor_offer;
SLUICE_API sluice_code sluice_runtime_offer_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                   const sluice_tensor_offer** offer);
typedef struct sluice_fetch_options {
  uint32_t struct_size;
  const char* from;
  uint64_t exchange;
  const char* key;
  int64_t ttl_ns;
  int64_t timeout_ns;
} sluice_fetch_options;
SLUICE_API sluice_code sluice_runtime_fetch_tensor(sluice_runtime* runtime,
                                                   const sluice_fetch_options* options,
                                                   uint64_t* exchange);
#endif

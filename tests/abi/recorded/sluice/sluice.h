#ifndef SLUICE_SLUICE_H_
#define SLUICE_SLUICE_H_
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"
#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif
typedef struct sluice_model sluice_model;
typedef struct sluice_context sluice_context;
SLUICE_API const char* sluice_version(void);
SLUICE_API const char* sluice_last_error(void);
#define SLUICE_LOG_ERROR 3
#define SLUICE_LOG_WARNING 4
#define SLUICE_LOG_INFO 5
#define SLUICE_LOG_DEBUG 6
#define SLUICE_LOG_TRACE 7
typedef void (*sluice_log_callback)(void* user_data, int32_t level, const char* event);
SLUICE_API sluice_code sluice_set_log(sluice_log_callback callback, void* user_data,
                                      int32_t max_level);
#define SLUICE_EXECUTOR_LINEAR 1
#define SLUICE_EXECUTOR_DATAFLOW 2
#define SLUICE_EXECUTOR_PARALLEL 3
typedef struct sluice_open_options {
  uint32_t struct_size;
  int32_t num_threads;
  const int32_t* cores;
  int32_t num_cores;
  int32_t executor;
  const char* backend_dir;
  int64_t max_loop_iterations;
  int64_t max_recorded_bytes;
  int32_t has_seed;
  int32_t reserved;
  uint64_t seed;
} sluice_open_options;
SLUICE_API sluice_code sluice_model_open(const char* path, const sluice_open_options* options,
                                         sluice_model** model);
#define SLUICE_BYTES_COPY 0
#define SLUICE_BYTES_BORROW 1
SLUICE_API sluice_code sluice_model_open_bytes(const void* bytes, size_t size_bytes,
                                               int32_t ownership,
                                               const sluice_open_options* options,
                                               sluice_model** model);
SLUICE_API sluice_code sluice_model_open_fd(int fd, const sluice_open_options* options,
                                            sluice_model** model);
SLUICE_API sluice_code sluice_model_set_seed(sluice_model* model, uint64_t seed);
SLUICE_API void sluice_model_close(sluice_model* model);
typedef struct sluice_tensor_spec {
  const char* name;
  const char* type;
  int32_t element_type;
  int32_t rank;
  const int64_t* dims;
  int32_t batch_axis;
  int32_t has_default;
} sluice_tensor_spec;
SLUICE_API size_t sluice_model_num_inputs(const sluice_model* model);
SLUICE_API size_t sluice_model_num_outputs(const sluice_model* model);
SLUICE_API const sluice_tensor_spec* sluice_model_input(const sluice_model* model, size_t index);
SLUICE_API const sluice_tensor_spec* sluice_model_output(const sluice_model* model, size_t index);
SLUICE_API size_t sluice_model_num_metadata(const sluice_model* model);
SLUICE_API sluice_code sluice_model_metadata_at(const sluice_model* model, size_t index,
                                                const char** key, const char** value);
SLUICE_API const char* sluice_model_metadata(const sluice_model* model, const char* key);
typedef struct sluice_array {
  void* data;
  int64_t size_bytes;
  int32_t element_type;
  int32_t rank;
  const int64_t* dims;
} sluice_array;
SLUICE_API sluice_code sluice_context_create(sluice_model* model, sluice_context** context);
SLUICE_API void sluice_context_free(sluice_context* context);
SLUICE_API sluice_code sluice_context_set_input(sluice_context* context, const char* name,
                                                const sluice_array* array);
SLUICE_API sluice_code sluice_context_bind_output(sluice_context* context, const char* name,
                                                  void* data, int64_t capacity_bytes);
SLUICE_API sluice_code sluice_context_keep_states(sluice_context* context,
                                                  const char* const* inputs,
                                                  const char* const* outputs, size_t num_states);
SLUICE_API int64_t sluice_context_kept_bytes(const sluice_context* context);
SLUICE_API sluice_code sluice_context_set_device_input(sluice_context* context, const char* name,
                                                       const sluice_array* array,
                                                       const char* backend, int32_t device);
SLUICE_API sluice_code sluice_context_bind_device_output(sluice_context* context, const char* name,
                                                         void* data, int64_t capacity_bytes,
                                                         const char* backend, int32_t device);
SLUICE_API int64_t sluice_context_copied_bytes(const sluice_context* context);
SLUICE_API int64_t sluice_context_recorded_bytes(const sluice_context* context);
SLUICE_API sluice_code sluice_context_run(sluice_context* context);
typedef struct sluice_run_options {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t timeout_ns;
} sluice_run_options;
SLUICE_API sluice_code sluice_context_run_with(sluice_context* context,
                                               const sluice_run_options* options);
SLUICE_API sluice_code sluice_context_cancel(sluice_context* context);
SLUICE_API sluice_code sluice_context_output(sluice_context* context, const char* name,
                                             sluice_array* array);
typedef struct sluice_output sluice_output;
SLUICE_API sluice_code sluice_context_take_output(sluice_context* context, const char* name,
                                                  sluice_output** output);
SLUICE_API const sluice_array* sluice_output_array(const sluice_output* output);
SLUICE_API void sluice_output_free(sluice_output* output);
SLUICE_API sluice_code sluice_context_set_input_elements(sluice_context* context, const char* name,
                                                         const sluice_array* elements,
                                                         size_t num_elements);
SLUICE_API sluice_code sluice_context_output_length(sluice_context* context, const char* name,
                                                    size_t* num_elements);
SLUICE_API sluice_code sluice_context_output_element(sluice_context* context, const char* name,
                                                     size_t index, sluice_array* array);
#endif

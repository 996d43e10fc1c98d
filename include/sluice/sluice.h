/* Sluice as a library, in C: open a compiled model, bind tensors, run.
 *
 * Functions that can fail return SLUICE_STATUS_OK (0) or a gRPC status code; the text of the
 * calling thread's last failure is at `sluice_last_error()`. Null handles are refused, except by
 * the functions that free. Models are immutable and may be used from any thread; a context is used
 * by one thread at a time. A context keeps its model alive.
 *
 * C++ programs may prefer the wrapper in `sluice/sluice.hpp`.
 */
#ifndef SLUICE_SLUICE_H_
#define SLUICE_SLUICE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

#define SLUICE_STATUS_OK 0

typedef struct sluice_model sluice_model;
typedef struct sluice_context sluice_context;

/* "0.1.0" */
SLUICE_API const char* sluice_version(void);

/* Text of the last failure on this thread; "" if there was none. Valid until the next failure. */
SLUICE_API const char* sluice_last_error(void);

/* ---- models ------------------------------------------------------------------------------- */

typedef struct sluice_open_options {
  uint32_t struct_size; /* sizeof(sluice_open_options) */
  int32_t num_threads;  /* 0: all cores that the process may use */
  const int32_t* cores; /* which cores; null to let Sluice choose */
  int32_t num_cores;    /* length of `cores` */
  int32_t reserved;
  const char* backend_dir; /* folder of plug-ins; null for SLUICE_BACKEND_PATH, then the default */
  int64_t max_loop_iterations; /* a loop that runs longer fails the run; 0 for the default, 10^8 */
} sluice_open_options;

/* Opens a `.sluice` file. `options` may be null. */
SLUICE_API int32_t sluice_model_open(const char* path, const sluice_open_options* options,
                                     sluice_model** model);
SLUICE_API void sluice_model_close(sluice_model* model);

/* An input or output as the model declares it; lives as long as the model. */
typedef struct sluice_tensor_spec {
  const char* name;
  const char* type;     /* "f32[N,3,224,224]", "seq(f32[?])" */
  int32_t element_type; /* number of ONNX's TensorProto.DataType: 1 = float, ...; 0: no tensor */
  int32_t rank;         /* -1 if unknown */
  const int64_t* dims;  /* [rank]; -1 where the model takes any size */
  int32_t batch_axis;   /* along which requests may be joined; -1 for none */
} sluice_tensor_spec;

SLUICE_API size_t sluice_model_num_inputs(const sluice_model* model);
SLUICE_API size_t sluice_model_num_outputs(const sluice_model* model);
/* Null if the index is out of range. */
SLUICE_API const sluice_tensor_spec* sluice_model_input(const sluice_model* model, size_t index);
SLUICE_API const sluice_tensor_spec* sluice_model_output(const sluice_model* model, size_t index);

/* ---- contexts ----------------------------------------------------------------------------- */

/* A tensor in row-major order in the owner's memory. Strings are n + 1 int64 offsets, then the
 * bytes they delimit. Sequences and optionals are beyond this interface: a model that takes or
 * gives them opens, and setting or reading such an operand fails with UNIMPLEMENTED. */
typedef struct sluice_array {
  void* data;
  int64_t size_bytes;
  int32_t element_type;
  int32_t rank;
  const int64_t* dims; /* [rank] */
} sluice_array;

SLUICE_API int32_t sluice_context_create(sluice_model* model, sluice_context** context);
SLUICE_API void sluice_context_free(sluice_context* context);

/* The memory is read by runs until this input is set again: without a copy if it is aligned to 64
 * bytes. `name` may be null for a model of one input. */
SLUICE_API int32_t sluice_context_set_input(sluice_context* context, const char* name,
                                            const sluice_array* array);

/* Runs write the output to the caller's memory: without a copy if it is aligned to 64 bytes. Null
 * data returns to memory of the context's own, the default. */
SLUICE_API int32_t sluice_context_bind_output(sluice_context* context, const char* name, void* data,
                                              int64_t capacity_bytes);

SLUICE_API int32_t sluice_context_run(sluice_context* context);

/* The result of the last run. `array` stays valid until the context runs again or is freed. */
SLUICE_API int32_t sluice_context_output(sluice_context* context, const char* name,
                                         sluice_array* array);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_SLUICE_H_ */

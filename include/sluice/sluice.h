/* Sluice as a library, in C: open a compiled model, bind tensors, run.
 *
 * Errors:    a function that can fail returns SLUICE_OK or another code of sluice/status.h, whose
 *            prefix the comments leave out.
 *            `sluice_last_error()` returns the text of the calling thread's last failure. A null
 *            handle gives INVALID_ARGUMENT, or 0 and null from queries; the functions that free
 *            accept it.
 * Threads:   a model is immutable and usable from any thread. Use a context from one thread at a
 *            time (except sluice_context_cancel); a concurrent call fails with
 *            FAILED_PRECONDITION. Several contexts of one model run in parallel.
 * Ownership: the caller frees each handle with its close or free function. A context keeps its
 *            model alive, so their order does not matter.
 *
 * C++ programs may prefer the wrapper in `sluice/sluice.hpp`.
 */
#ifndef SLUICE_SLUICE_H_
#define SLUICE_SLUICE_H_

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

typedef struct sluice_model sluice_model;
typedef struct sluice_context sluice_context;

/* The version of the library, such as "0.1.0". A static string. */
SLUICE_API const char* sluice_version(void);

/* Text of the calling thread's last failure, "" without one. Valid until the thread's next failure.
 */
SLUICE_API const char* sluice_last_error(void);

/* ---- log ---------------------------------------------------------------------------------- */

/* Levels, as in the option -l of sluiced. */
#define SLUICE_LOG_ERROR 3
#define SLUICE_LOG_WARNING 4 /* a plug-in that did not load */
#define SLUICE_LOG_INFO 5    /* what happens to models and daemons */
#define SLUICE_LOG_DEBUG 6   /* plug-ins, plans of new shapes, calls that fail */
#define SLUICE_LOG_TRACE 7

/* Hears one event of libsluice: a name and key=value pairs, `model.loaded name="digits" group=3`.
 * The text lives for the call. Called on the thread where the event happens, by several threads at
 * once. It must not call functions of Sluice that block; events of its own calls are dropped. */
typedef void (*sluice_log_callback)(void* user_data, int32_t level, const char* event);

/* Sets the log callback of the process; null disables logging, the default. Events above the level
 * `max_level` are dropped. When the function returns, the former callback has
 * returned on every thread. Fails: INVALID_ARGUMENT for an unknown level; FAILED_PRECONDITION
 * in a callback. */
SLUICE_API sluice_code sluice_set_log(sluice_log_callback callback, void* user_data,
                                      int32_t max_level);

/* ---- models ------------------------------------------------------------------------------- */

/* How a run walks the graph. Linear: one segment after another. Dataflow: one thread that keeps all
 * devices busy. Parallel: branches side by side; a context starts a thread per device and per lane
 * of cores. */
#define SLUICE_EXECUTOR_LINEAR 1
#define SLUICE_EXECUTOR_DATAFLOW 2
#define SLUICE_EXECUTOR_PARALLEL 3

/* How a model is loaded. All fields but struct_size may be zero.
 *
 * With `cores`, runs compute on those alone. On the host's processors, core i is the i-th processor
 * that the thread which opens the model may use. A run on another processor moves its thread there
 * and gives it its affinity back at the end, also when the run fails. */
typedef struct sluice_open_options {
  uint32_t struct_size;    /* sizeof(sluice_open_options) */
  int32_t num_threads;     /* number of cores to use; 0: all cores that the process may use */
  const int32_t* cores;    /* [num_cores] core numbers, see below; null: Sluice chooses */
  int32_t num_cores;       /* length of `cores` */
  int32_t executor;        /* SLUICE_EXECUTOR_...; 0: what the model was compiled for */
  const char* backend_dir; /* folder of plug-ins; null: $SLUICE_BACKEND_PATH, then the default */
  int64_t max_loop_iterations; /* a longer Loop fails the run; 0: the default, 10^8 */
  /* Bytes of command lists and plans that a context keeps for shapes of earlier runs, and as many
   * of plans for the model: the least recently used ones go. -1: none; 0: the default, 64 MiB. */
  int64_t max_recorded_bytes;
  /* 1: random operators start from `seed`, so that the runs which follow give the same numbers in
   * every load; 0: from a number of the system. */
  int32_t has_seed;
  int32_t reserved;
  uint64_t seed;
} sluice_open_options;

/* Opens the `.sluice` file at `path` and loads its model. `options` may be null. On success
 * `*model` is a handle for sluice_model_close; on failure it is null. Fails: NOT_FOUND for a
 * missing file or backend; INVALID_ARGUMENT for a file of another format or bad options;
 * DATA_LOSS for a damaged file; UNIMPLEMENTED for an operation that no backend supports.
 */
SLUICE_API sluice_code sluice_model_open(const char* path, const sluice_open_options* options,
                                         sluice_model** model);

/* Who owns the bytes of a package. Borrowed ones must be aligned to 64 bytes, and stay valid and
 * unchanged until the model is closed and all its contexts are freed. */
#define SLUICE_BYTES_COPY 0   /* the library copies them */
#define SLUICE_BYTES_BORROW 1 /* the library reads them in place */

/* As sluice_model_open for the bytes of a `.sluice` file. `ownership` is SLUICE_BYTES_. Fails
 * besides: INVALID_ARGUMENT for null bytes, an unknown `ownership`, or borrowed bytes that are not
 * aligned. */
SLUICE_API sluice_code sluice_model_open_bytes(const void* bytes, size_t size_bytes,
                                               int32_t ownership,
                                               const sluice_open_options* options,
                                               sluice_model** model);
/* As sluice_model_open for an open descriptor of a regular file or a memfd, which is mapped from
 * its start. The descriptor stays the caller's, who may close it afterwards. */
SLUICE_API sluice_code sluice_model_open_fd(int fd, const sluice_open_options* options,
                                            sluice_model** model);
/* Random operators start from `seed` again: the runs that start from now on give the numbers of a
 * model that was opened with it, in the order of their starts. Any thread may call it. Operators
 * with an attribute `seed` start from that. Fails: INVALID_ARGUMENT for null. */
SLUICE_API sluice_code sluice_model_set_seed(sluice_model* model, uint64_t seed);
/* Releases the handle; null is allowed. The model stays in memory while contexts use it. */
SLUICE_API void sluice_model_close(sluice_model* model);

/* An input or output as the model declares it; lives as long as the model. */
typedef struct sluice_tensor_spec {
  const char* name;
  const char* type;     /* "f32[N,3,224,224]", "seq(f32[?])" */
  int32_t element_type; /* number of ONNX's TensorProto.DataType: 1 = float, ...; 0: not a tensor */
  int32_t rank;         /* -1 if unknown */
  const int64_t* dims;  /* [rank]; -1 where the model takes any size */
  int32_t batch_axis;   /* axis along which requests may be joined; -1 for none */
  int32_t has_default;  /* 1: an input that may be left out; it has the model's value then */
} sluice_tensor_spec;

/* Number of inputs and outputs, in the order of the model's signature. */
SLUICE_API size_t sluice_model_num_inputs(const sluice_model* model);
SLUICE_API size_t sluice_model_num_outputs(const sluice_model* model);
/* Null if the index is out of range. */
SLUICE_API const sluice_tensor_spec* sluice_model_input(const sluice_model* model, size_t index);
SLUICE_API const sluice_tensor_spec* sluice_model_output(const sluice_model* model, size_t index);

/* Facts about the model and its source, in the order of their keys: "producer" ("pytorch 2.9"),
 * "onnx_opset", ... Texts live as long as the model. docs/api.md lists the keys. */
SLUICE_API size_t sluice_model_num_metadata(const sluice_model* model);
/* Fails: INVALID_ARGUMENT if the index is out of range. */
SLUICE_API sluice_code sluice_model_metadata_at(const sluice_model* model, size_t index,
                                                const char** key, const char** value);
/* The value of `key`; null if the model has none. */
SLUICE_API const char* sluice_model_metadata(const sluice_model* model, const char* key);

/* ---- contexts ----------------------------------------------------------------------------- */

/* A tensor in row-major order, in memory of the caller (inputs) or the context (outputs). A tensor
 * of n strings is n + 1 int64 offsets, followed by the strings' bytes. Maps of ONNX are rows with a
 * column per key; the metadata "columns.<name>" has the keys in order. */
typedef struct sluice_array {
  void* data;
  int64_t size_bytes;
  int32_t element_type;
  int32_t rank;
  const int64_t* dims; /* [rank] */
} sluice_array;

/* Creates a context: an arena and bindings for one run at a time. On failure `*context` is null. */
SLUICE_API sluice_code sluice_context_create(sluice_model* model, sluice_context** context);
/* Frees the context and the memory of its outputs; null is allowed. */
SLUICE_API void sluice_context_free(sluice_context* context);

/* Sets an input. Null for `array` restores the default of an input that has one, which a new
 * context has too. The context borrows `array->data` and reads it in every run until the input is
 * set again. Backend `cpu` reads it in place if the address is a multiple of the element's size;
 * other plug-ins may need 64 bytes, and get a copy. `name` may be null for a model with one input.
 * Fails: NOT_FOUND for an unknown name; INVALID_ARGUMENT if type, shape or size does not
 * match the model, or for null and an input without a default; the message names the input, the
 * given and the expected type. */
SLUICE_API sluice_code sluice_context_set_input(sluice_context* context, const char* name,
                                                const sluice_array* array);

/* Makes runs write the output to the caller's `data`, without a copy if it is aligned to 64 bytes.
 * The context borrows `data`. Null restores the default, memory of the context. A run fails with
 * RESOURCE_EXHAUSTED if the output exceeds `capacity_bytes`.
 *
 * `data` may be the memory of an input, as for a state that each run changes. The run then writes
 * in place if nothing reads the input after the operation that writes, and else copies the output
 * at its end. A run that fails may have changed what it writes in place. */
SLUICE_API sluice_code sluice_context_bind_output(sluice_context* context, const char* name,
                                                  void* data, int64_t capacity_bytes);

/* Lends the context the memory of states: that to which the input and the output of a pair are
 * bound, aligned to 64 bytes. `inputs` and `outputs`: [num_states] names. The caller neither reads
 * nor changes the memory from now on, but for sluice_context_output, which brings a value there,
 * and sluice_context_set_input, which takes a new value from there. So a state whose kernels run on
 * one device with memory of its own stays on that device between runs, if one of them changes it in
 * place. Other states are as without this call. A state ends when its input or output is bound
 * elsewhere: its value is brought first. It ends with the context, too, which loses its value.
 * States that are kept already stay. No other input or output may share bytes with their memory:
 * runs fail then. Fails, and keeps no further state: NOT_FOUND for an unknown name;
 * INVALID_ARGUMENT for null, for memories that differ or are not aligned, and for an input or
 * output of another state; RESOURCE_EXHAUSTED for a device that is too small, if all shapes of the
 * model are known.
 */
SLUICE_API sluice_code sluice_context_keep_states(sluice_context* context,
                                                  const char* const* inputs,
                                                  const char* const* outputs, size_t num_states);

/* Bytes of kept states whose values lie on devices, where the last run left them. 0 for null. */
SLUICE_API int64_t sluice_context_kept_bytes(const sluice_context* context);

/* As sluice_context_set_input and sluice_context_bind_output for memory of the device that runs the
 * model, such as a tensor that another library has on the same GPU: device `device` of `backend`,
 * as "cuda" and 0. Addresses are those of the device, aligned to 64 bytes; it copies from and to
 * them, and the host never touches them. The memory stays allocated until other memory is set or
 * bound, or the context is freed. What others do to it must have ended when a run starts; outputs
 * are complete when it returns. A host input or output of the same name, or null data for an
 * output, ends it. Fails besides: FAILED_PRECONDITION for a model that does not run wholly on this
 * device, for a device without memory of its own or whose plug-in takes no memory of others, for
 * shapes that are not fixed, and for a model that gives an input or a constant as an output;
 * INVALID_ARGUMENT for memory that is not aligned, or that is not memory of the device from its
 * first to its last byte; RESOURCE_EXHAUSTED for a capacity below the output's size. */
SLUICE_API sluice_code sluice_context_set_device_input(sluice_context* context, const char* name,
                                                       const sluice_array* array,
                                                       const char* backend, int32_t device);
SLUICE_API sluice_code sluice_context_bind_device_output(sluice_context* context, const char* name,
                                                         void* data, int64_t capacity_bytes,
                                                         const char* backend, int32_t device);

/* Bytes that runs of the context have copied: inputs and outputs that operations could not read or
 * write in the caller's memory, which are all on a device with memory of its own, and inputs and
 * constants that are outputs too. 0 for null. */
SLUICE_API int64_t sluice_context_copied_bytes(const sluice_context* context);

/* Bytes of command lists and plans that the context keeps for shapes of earlier runs, partly an
 * estimate; see max_recorded_bytes. 0 for null and for a model of static shapes. */
SLUICE_API int64_t sluice_context_recorded_bytes(const sluice_context* context);

/* Runs the model on the inputs. Blocks until the outputs are complete.
 * Fails: FAILED_PRECONDITION if an input is not set; errors of the model's operations, such as
 * an index out of range. */
SLUICE_API sluice_code sluice_context_run(sluice_context* context);

/* How to run. All fields but struct_size may be zero. */
typedef struct sluice_run_options {
  uint32_t struct_size; /* sizeof(sluice_run_options) */
  uint32_t reserved;
  int64_t timeout_ns; /* of the whole run; 0: none */
} sluice_run_options;

/* As sluice_context_run, with a time limit; `options` may be null. A run ends with
 * DEADLINE_EXCEEDED after its limit, with CANCELLED after sluice_context_cancel: before its next
 * segment, its next iteration of a loop, or its next operation whose shape depends on data. Kernels
 * of one segment run to their end. Afterwards the outputs hold arbitrary values, and the context
 * may run again. */
SLUICE_API sluice_code sluice_context_run_with(sluice_context* context,
                                               const sluice_run_options* options);
/* Ends the run under way, as sluice_context_run_with says, and returns at once. Any thread may call
 * it until the context is freed. Fails: FAILED_PRECONDITION if no run is under way; a run that
 * starts later is not affected. */
SLUICE_API sluice_code sluice_context_cancel(sluice_context* context);

/* Fills `array` with an output of the last successful run, in memory of the context or the memory
 * of sluice_context_bind_output. It stays valid until the context runs again or is freed. Fails:
 * NOT_FOUND for an unknown name; FAILED_PRECONDITION before the first run. */
SLUICE_API sluice_code sluice_context_output(sluice_context* context, const char* name,
                                             sluice_array* array);

/* ---- outputs that the caller keeps -------------------------------------------------------- */

typedef struct sluice_output sluice_output;

/* Takes an output of the last successful run out of the context, without a copy: it stays valid
 * until sluice_output_free, whatever happens to the context. The next run allocates anew. Fails:
 * NOT_FOUND for an unknown name; FAILED_PRECONDITION before the first run, for an output
 * that was taken already, and for one that is bound. */
SLUICE_API sluice_code sluice_context_take_output(sluice_context* context, const char* name,
                                                  sluice_output** output);
/* The tensor, which lives as long as `output`. Null for null. */
SLUICE_API const sluice_array* sluice_output_array(const sluice_output* output);
/* Frees the tensor. Any thread may call it; null is allowed. */
SLUICE_API void sluice_output_free(sluice_output* output);

/* ---- sequences and optionals -------------------------------------------------------------- */

/* Sets an input of type "seq(...)" or "optional(...)" to copies of `elements`. An optional
 * of a tensor has no element or one; an optional of a sequence is set to the sequence. Fails: as
 * sluice_context_set_input; INVALID_ARGUMENT for several elements where one is allowed. */
SLUICE_API sluice_code sluice_context_set_input_elements(sluice_context* context, const char* name,
                                                         const sluice_array* elements,
                                                         size_t num_elements);
/* Number of elements of an output of the last successful run: of a sequence; 0 or 1 of an optional
 * of a tensor; 1 of a tensor. Fails: as sluice_context_output. */
SLUICE_API sluice_code sluice_context_output_length(sluice_context* context, const char* name,
                                                    size_t* num_elements);
/* Fills `array` with one element; valid as the array of sluice_context_output is. Fails besides:
 * INVALID_ARGUMENT if the index is out of range. */
SLUICE_API sluice_code sluice_context_output_element(sluice_context* context, const char* name,
                                                     size_t index, sluice_array* array);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_SLUICE_H_ */

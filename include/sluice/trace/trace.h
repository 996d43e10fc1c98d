/* Tracing, in C: a program records operations one by one and compiles them to a package.
 *
 * Link or dlopen libsluice_compiler. An operation is checked, and the types of its outputs are
 * known, as soon as it is recorded.
 *
 * Errors:    as in sluice/compile.h; the text of the calling thread's last failure is
 *            sluice_compile_last_error(). A call that fails leaves the trace as it was.
 * Threads:   every function may be called from any thread; one thread at a time uses a trace.
 * Ownership: callees borrow what they are passed for the call.
 *
 * C++ programs may prefer the wrapper in `sluice/trace/trace.hpp`.
 */
#ifndef SLUICE_TRACE_TRACE_H_
#define SLUICE_TRACE_TRACE_H_

#include "sluice/backend.h"
#include "sluice/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of a trace: an input, a constant or an output of an operation. */
typedef int32_t sluice_value;
#define SLUICE_VALUE_ABSENT (-1) /* an optional input that is left out */

/* An operation of one of the operators of docs/operators.md, or of the program's own. */
typedef struct sluice_trace_operation {
  uint32_t struct_size; /* sizeof(sluice_trace_operation) */
  int32_t version;      /* of the operator's domain, as ONNX counts them; 0: the newest */
  const char* domain;   /* null or "": ONNX's default domain */
  const char* kind;     /* "Conv" */
  const char* source;   /* where the program records it, "net.cc:12"; may be null */
  int32_t num_inputs;
  int32_t num_outputs;
  const sluice_value* inputs; /* [num_inputs] */
  const sluice_attribute* attributes;
  int32_t num_attributes;
  int32_t reserved;
} sluice_trace_operation;

/* Begins a trace, which may use `operators` of the program, [num_operators]: those of
 * sluice_operator_at. On failure `*trace` is null. */
SLUICE_API sluice_code sluice_trace_create(const sluice_operator* const* operators,
                                           size_t num_operators, sluice_trace** trace);

/* Null is allowed. */
SLUICE_API void sluice_trace_free(sluice_trace* trace);

/* Adds an input of the model. `type` is "f32[N,3,224,224]": element type and dimensions, which are
 * numbers or names of what varies. Fails: INVALID_ARGUMENT for a type that cannot be read, or a
 * name that is taken. */
SLUICE_API sluice_code sluice_trace_input(sluice_trace* trace, const char* name, const char* type,
                                          sluice_value* value);

/* Adds a tensor that is known now, such as a weight; the elements are copied. `name` is for people,
 * may be null, and is dropped if it is taken. Fails: INVALID_ARGUMENT for an array whose size
 * does not fit its dimensions. */
SLUICE_API sluice_code sluice_trace_constant(sluice_trace* trace, const char* name,
                                             const sluice_array* array, sluice_value* value);

/* Records an operation; writes `num_outputs` values to `outputs`. Fails: INVALID_ARGUMENT for
 * inputs or attributes that the operator refuses; UNIMPLEMENTED for an unknown operator. */
SLUICE_API sluice_code sluice_trace_record(sluice_trace* trace,
                                           const sluice_trace_operation* operation,
                                           sluice_value* outputs);

/* Makes a value an output of the model. Fails: INVALID_ARGUMENT for a name that is taken. */
SLUICE_API sluice_code sluice_trace_output(sluice_trace* trace, const char* name,
                                           sluice_value value);

/* The type of a value; its name is "". It lives until the next call for this trace. Null for a
 * value that does not exist. */
SLUICE_API const sluice_tensor_spec* sluice_trace_describe(sluice_trace* trace, sluice_value value);

/* To compile a trace, name it in the field `trace` of a sluice_compile_request. */

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_TRACE_TRACE_H_ */

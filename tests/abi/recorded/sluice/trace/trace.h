#ifndef SLUICE_TRACE_TRACE_H_
#define SLUICE_TRACE_TRACE_H_
#include "sluice/backend.h"
#include "sluice/compile.h"
typedef int32_t sluice_value;
#define SLUICE_VALUE_ABSENT (-1)
typedef struct sluice_trace_operation {
  uint32_t struct_size;
  int32_t version;
  const char* domain;
  const char* kind;
  const char* source;
  int32_t num_inputs;
  int32_t num_outputs;
  const sluice_value* inputs;
  const sluice_attribute* attributes;
  int32_t num_attributes;
  int32_t reserved;
} sluice_trace_operation;
SLUICE_API sluice_code sluice_trace_create(const sluice_operator* const* operators,
                                           size_t num_operators, sluice_trace** trace);
SLUICE_API void sluice_trace_free(sluice_trace* trace);
SLUICE_API sluice_code sluice_trace_input(sluice_trace* trace, const char* name, const char* type,
                                          sluice_value* value);
SLUICE_API sluice_code sluice_trace_constant(sluice_trace* trace, const char* name,
                                             const sluice_array* array, sluice_value* value);
SLUICE_API sluice_code sluice_trace_record(sluice_trace* trace,
                                           const sluice_trace_operation* operation,
                                           sluice_value* outputs);
SLUICE_API sluice_code sluice_trace_output(sluice_trace* trace, const char* name,
                                           sluice_value value);
SLUICE_API const sluice_tensor_spec* sluice_trace_describe(sluice_trace* trace, sluice_value value);
#endif

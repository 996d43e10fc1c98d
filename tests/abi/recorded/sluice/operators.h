#ifndef SLUICE_OPERATORS_H_
#define SLUICE_OPERATORS_H_
#include "sluice/backend.h"
#include "sluice/sluice.h"
#define SLUICE_OPERATOR_MAX_RANK 64
#define SLUICE_DIM_UNKNOWN (-1)
typedef struct sluice_type {
  sluice_element_type element_type;
  int32_t rank;
  int64_t* dims;
} sluice_type;
typedef struct sluice_operator_types {
  uint32_t struct_size;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attributes;
  const sluice_type* inputs;
  sluice_type* outputs;
  const sluice_attribute* attributes;
} sluice_operator_types;
typedef struct sluice_operator_call {
  uint32_t struct_size;
  int32_t reserved;
  const sluice_op* op;
  const sluice_tensor* inputs;
  const sluice_tensor* outputs;
  int64_t* const* actual_dims;
  sluice_text_pool* texts;
} sluice_operator_call;
#define SLUICE_OPERATOR_HAS_EFFECTS 1u
#define SLUICE_OPERATOR_DATA_DEPENDENT 2u
typedef struct sluice_operator {
  uint32_t struct_size;
  uint32_t flags;
  const char* domain;
  const char* name;
  int32_t version;
  int32_t min_inputs;
  int32_t max_inputs;
  int32_t min_outputs;
  int32_t max_outputs;
  int32_t reserved;
  sluice_code (*infer)(void* user_data, const sluice_operator_types* types,
                       sluice_message* message);
  sluice_code (*run)(void* user_data, const sluice_operator_call* call, sluice_message* message);
  void* user_data;
} sluice_operator;
SLUICE_API sluice_code sluice_operator_register(const sluice_operator* op);
SLUICE_API size_t sluice_num_operators(void);
SLUICE_API const sluice_operator* sluice_operator_at(size_t index);
#define SLUICE_OPERATOR_MODULE_ENTRY "sluice_operator_module_1"
typedef struct sluice_operator_module {
  uint32_t struct_size;
  uint32_t reserved;
  const sluice_operator* const* operators;
  size_t num_operators;
} sluice_operator_module;
typedef const sluice_operator_module* (*sluice_operator_module_entry)(void);
SLUICE_API sluice_code sluice_operator_allow(const char* sha256);
#endif

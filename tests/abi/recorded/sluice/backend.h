#ifndef SLUICE_BACKEND_H_
#define SLUICE_BACKEND_H_
#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"
#define SLUICE_BACKEND_ABI_MAJOR 1
#define SLUICE_BACKEND_ABI_MINOR 3
#define SLUICE_BACKEND_ENTRY "sluice_backend_entry"
#define SLUICE_ALIGNMENT 64
#if defined(__GNUC__)
#define SLUICE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_PLUGIN_EXPORT
#endif
typedef struct sluice_message {
  char* text;
  size_t capacity;
} sluice_message;
typedef int32_t sluice_element_type;
typedef int32_t sluice_layout;
#define SLUICE_LAYOUT_ROW_MAJOR 0
#define SLUICE_LAYOUT_C16 1
typedef struct sluice_tensor {
  void* data;
  int64_t size_bytes;
  sluice_element_type element_type;
  sluice_layout layout;
  int32_t rank;
  int32_t reserved;
  const int64_t* dims;
} sluice_tensor;
typedef struct sluice_text {
  const char* data;
  int64_t size_bytes;
} sluice_text;
typedef struct sluice_text_pool {
  void* owner;
  char* (*allocate)(struct sluice_text_pool* pool, int64_t size_bytes);
} sluice_text_pool;
typedef int32_t sluice_attribute_kind;
#define SLUICE_ATTRIBUTE_INT 1
#define SLUICE_ATTRIBUTE_FLOAT 2
#define SLUICE_ATTRIBUTE_TEXT 3
#define SLUICE_ATTRIBUTE_INTS 4
#define SLUICE_ATTRIBUTE_FLOATS 5
#define SLUICE_ATTRIBUTE_TEXTS 6
#define SLUICE_ATTRIBUTE_TENSOR 7
typedef struct sluice_attribute {
  const char* name;
  sluice_attribute_kind kind;
  int64_t count;
  const int64_t* ints;
  const float* floats;
  const sluice_text* texts;
  const sluice_tensor* tensor;
} sluice_attribute;
typedef struct sluice_operand {
  sluice_tensor tensor;
  int32_t is_constant;
  const void* packed;
  int64_t packed_bytes;
} sluice_operand;
typedef struct sluice_body_step {
  const char* kind;
  int32_t version;
  int32_t num_inputs;
  const int32_t* inputs;
  int32_t num_attributes;
  const sluice_attribute* attributes;
} sluice_body_step;
typedef struct sluice_body {
  int32_t num_inputs;
  int32_t num_constants;
  const sluice_tensor* constants;
  int32_t num_steps;
  const sluice_body_step* steps;
  int32_t result;
} sluice_body;
typedef struct sluice_op {
  uint32_t struct_size;
  int32_t version;
  const char* domain;
  const char* kind;
  const char* name;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_body_inputs;
  int32_t num_attributes;
  const sluice_operand* inputs;
  const sluice_operand* outputs;
  const sluice_operand* body_inputs;
  const sluice_attribute* attributes;
  const sluice_body* body;
} sluice_op;
typedef struct sluice_op_support {
  uint32_t struct_size;
  int32_t supported;
  double cost_ns;
  sluice_layout preferred_layout;
  int32_t is_generic;
  int32_t native_halves;
} sluice_op_support;
typedef struct sluice_packing {
  uint32_t struct_size;
  int64_t size_bytes;
  char format[64];
} sluice_packing;
#define SLUICE_DEVICE_HOST_MEMORY 1u
#define SLUICE_DEVICE_OWN_MEMORY 2u
#define SLUICE_DEVICE_SIMULATED 4u
typedef struct sluice_device_info {
  uint32_t struct_size;
  uint32_t flags;
  char kind[32];
  char name[96];
  int32_t num_cores;
  int32_t reserved;
  int64_t memory_bytes;
  char bus_address[32];
} sluice_device_info;
typedef struct sluice_backend sluice_backend;
typedef struct sluice_group sluice_group;
typedef struct sluice_stream sluice_stream;
typedef struct sluice_kernel sluice_kernel;
typedef struct sluice_command_list sluice_command_list;
typedef struct sluice_kernel_info {
  uint32_t struct_size;
  uint32_t in_place_inputs;
} sluice_kernel_info;
typedef struct sluice_argument {
  int32_t binding;
  int32_t texts;
  void* address;
  int64_t offset_bytes;
  int64_t* actual_dims;
} sluice_argument;
typedef struct sluice_option {
  const char* name;
  const char* value;
} sluice_option;
typedef struct sluice_backend_api {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* name;
  const char* version;
  const char* (*packing_key)(sluice_backend* backend);
  sluice_code (*create)(const sluice_option* options, int32_t num_options, sluice_backend** backend,
                        sluice_message* message);
  void (*destroy)(sluice_backend* backend);
  int32_t (*device_count)(sluice_backend* backend);
  sluice_code (*device_describe)(sluice_backend* backend, int32_t device, sluice_device_info* info,
                                 sluice_message* message);
  sluice_code (*op_query)(sluice_backend* backend, const sluice_op* op, sluice_op_support* support,
                          sluice_message* message);
  sluice_code (*packing_query)(sluice_backend* backend, const sluice_op* op, int32_t input,
                               sluice_packing* packing, sluice_message* message);
  sluice_code (*pack)(sluice_backend* backend, const sluice_op* op, int32_t input, void* packed,
                      sluice_message* message);
  sluice_code (*kernel_create)(sluice_backend* backend, int32_t device, const sluice_op* op,
                               sluice_kernel** kernel, sluice_kernel_info* info,
                               sluice_message* message);
  void (*kernel_destroy)(sluice_kernel* kernel);
  sluice_code (*memory_allocate)(sluice_backend* backend, int32_t device, int64_t size_bytes,
                                 void** address, sluice_message* message);
  void (*memory_free)(sluice_backend* backend, int32_t device, void* address);
  sluice_code (*group_create)(sluice_backend* backend, int32_t device, const int32_t* cores,
                              int32_t num_cores, sluice_group** group, sluice_message* message);
  void (*group_destroy)(sluice_group* group);
  sluice_code (*stream_create)(sluice_group* group, sluice_stream** stream,
                               sluice_message* message);
  void (*stream_destroy)(sluice_stream* stream);
  sluice_code (*stream_wait)(sluice_stream* stream, int64_t timeout_ns, sluice_message* message);
  sluice_code (*list_create)(sluice_group* group, sluice_command_list** list,
                             sluice_message* message);
  void (*list_destroy)(sluice_command_list* list);
  sluice_code (*list_add_kernel)(sluice_command_list* list, sluice_kernel* kernel,
                                 const sluice_argument* inputs, int32_t num_inputs,
                                 const sluice_argument* outputs, int32_t num_outputs,
                                 sluice_message* message);
  sluice_code (*list_add_copy)(sluice_command_list* list, const sluice_argument* source,
                               const sluice_argument* target, int64_t size_bytes,
                               sluice_message* message);
  sluice_code (*list_finish)(sluice_command_list* list, sluice_message* message);
  sluice_code (*list_submit)(sluice_stream* stream, sluice_command_list* list,
                             void* const* bindings, int32_t num_bindings, sluice_message* message);
  const void* (*find_extension)(sluice_backend* backend, const char* name);
} sluice_backend_api;
typedef const sluice_backend_api* (*sluice_backend_entry_fn)(uint16_t host_abi_major,
                                                             uint16_t host_abi_minor,
                                                             sluice_message* message);
#endif

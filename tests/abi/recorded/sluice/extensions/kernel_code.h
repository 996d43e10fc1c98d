#ifndef SLUICE_EXTENSIONS_KERNEL_CODE_H_
#define SLUICE_EXTENSIONS_KERNEL_CODE_H_
#include "sluice/backend.h"
#define SLUICE_KERNEL_CODE "sluice.kernel_code/1"
typedef struct sluice_code_image {
  const char* target;
  const void* data;
  int64_t size_bytes;
} sluice_code_image;
typedef struct sluice_kernel_code {
  uint32_t struct_size;
  int32_t num_arguments;
  int32_t num_images;
  uint32_t grid[3];
  uint32_t block[3];
  const char* key;
  const char* function;
  sluice_text source;
  const int32_t* arguments;
  const sluice_code_image* images;
} sluice_kernel_code;
typedef void (*sluice_code_receiver)(void* user_data, const sluice_kernel_code* code);
typedef struct sluice_kernel_codes {
  uint32_t struct_size;
  uint32_t reserved;
  const char* compiles_for;
  sluice_code (*compile)(sluice_kernel* kernel, const sluice_text* source,
                         const char* const* targets, int32_t num_targets,
                         sluice_code_receiver receive, void* user_data, sluice_message* message);
  sluice_code (*kernel_create)(sluice_backend* backend, int32_t device, const sluice_op* op,
                               const sluice_kernel_code* code, sluice_kernel** kernel,
                               sluice_kernel_info* info, sluice_message* message);
} sluice_kernel_codes;
#endif

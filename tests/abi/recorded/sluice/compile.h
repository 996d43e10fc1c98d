#ifndef SLUICE_COMPILE_H_
#define SLUICE_COMPILE_H_
#include "sluice/operators.h"
#include "sluice/sluice.h"
typedef struct sluice_package sluice_package;
typedef struct sluice_trace sluice_trace;
typedef struct sluice_compile_request {
  uint32_t struct_size;
  int32_t has_fd;
  int32_t fd;
  int32_t reserved;
  const char* path;
  const void* data;
  size_t size_bytes;
  const char* folder;
  const char* const* options;
  size_t num_options;
  const char* backend_dir;
  void (*progress)(void* user_data, const char* phase);
  void* user_data;
  const sluice_operator* const* operators;
  size_t num_operators;
  const sluice_trace* trace;
  const char* output;
} sluice_compile_request;
SLUICE_API sluice_code sluice_compile(const sluice_compile_request* request,
                                      sluice_package** package);
#define SLUICE_COMPILE_KEY_BYTES 34
SLUICE_API sluice_code sluice_compile_key(const sluice_compile_request* request, char* key,
                                          size_t capacity);
SLUICE_API const char* sluice_compile_last_error(void);
SLUICE_API size_t sluice_package_num_operations(const sluice_package* package);
SLUICE_API sluice_code sluice_package_save(const sluice_package* package, const char* path);
SLUICE_API sluice_code sluice_package_bytes(sluice_package* package, const void** data,
                                            size_t* size_bytes);
SLUICE_API void sluice_package_free(sluice_package* package);
#endif

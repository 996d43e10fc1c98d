#ifndef SLUICE_EXTENSIONS_VARIANTS_H_
#define SLUICE_EXTENSIONS_VARIANTS_H_
#include "sluice/backend.h"
#define SLUICE_VARIANTS "sluice.variants/1"
#define SLUICE_VARIANT_ATTRIBUTE "sluice_variant"
typedef void (*sluice_variant_visitor)(void* user_data, const char* name);
typedef struct sluice_variants {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_code (*list)(sluice_backend* backend, const sluice_op* op, int32_t num_cores,
                      sluice_variant_visitor visit, void* user_data, sluice_message* message);
  void (*run_steadily)(sluice_backend* backend, int32_t steady);
} sluice_variants;
#endif

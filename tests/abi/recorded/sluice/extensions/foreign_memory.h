#ifndef SLUICE_EXTENSIONS_FOREIGN_MEMORY_H_
#define SLUICE_EXTENSIONS_FOREIGN_MEMORY_H_
#include "sluice/backend.h"
#define SLUICE_FOREIGN_MEMORY "sluice.foreign_memory/1"
typedef struct sluice_foreign_memory {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_code (*check)(sluice_backend* backend, int32_t device, const void* address,
                       int64_t size_bytes, sluice_message* message);
} sluice_foreign_memory;
#endif

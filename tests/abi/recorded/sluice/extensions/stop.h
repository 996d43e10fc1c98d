#ifndef SLUICE_EXTENSIONS_STOP_H_
#define SLUICE_EXTENSIONS_STOP_H_
#include "sluice/backend.h"
#define SLUICE_STOP "sluice.stop/1"
typedef int32_t (*sluice_stop_question)(void* user_data);
typedef struct sluice_stop {
  uint32_t struct_size;
  uint32_t reserved;
  void (*watch)(sluice_backend* backend, sluice_stop_question question, void* user_data);
} sluice_stop;
#endif

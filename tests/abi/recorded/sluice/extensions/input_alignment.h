#ifndef SLUICE_EXTENSIONS_INPUT_ALIGNMENT_H_
#define SLUICE_EXTENSIONS_INPUT_ALIGNMENT_H_
#include "sluice/backend.h"
#define SLUICE_INPUT_ALIGNMENT "sluice.input_alignment/1"
typedef struct sluice_input_alignment {
  uint32_t struct_size;
  uint32_t alignment_bytes;
} sluice_input_alignment;
#endif

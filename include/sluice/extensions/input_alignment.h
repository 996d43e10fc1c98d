/* The extension "sluice.input_alignment/1" of a plug-in: its kernels read a model's inputs at
 * addresses of less alignment than SLUICE_ALIGNMENT, so that the host need not copy them. Without
 * the extension the host copies such inputs. Conventions as in sluice/backend.h. */
#ifndef SLUICE_EXTENSIONS_INPUT_ALIGNMENT_H_
#define SLUICE_EXTENSIONS_INPUT_ALIGNMENT_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_INPUT_ALIGNMENT "sluice.input_alignment/1"

typedef struct sluice_input_alignment {
  uint32_t struct_size;
  /* The address of a kernel's input is a multiple of this number and of its element's size. A power
   * of two from 1 to SLUICE_ALIGNMENT. Outputs, constants and scratch memory stay aligned to
   * SLUICE_ALIGNMENT. */
  uint32_t alignment_bytes;
} sluice_input_alignment;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_INPUT_ALIGNMENT_H_ */

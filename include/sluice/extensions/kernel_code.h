/* The extension "sluice.kernel_code/1" of a plug-in: kernels are compiled ahead of time, and a
 * package keeps their code, so that a load needs no compiler. Conventions as in sluice/backend.h.
 */
#ifndef SLUICE_EXTENSIONS_KERNEL_CODE_H_
#define SLUICE_EXTENSIONS_KERNEL_CODE_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_KERNEL_CODE "sluice.kernel_code/1"

/* Code for one target. The plug-in names targets: "compute_75", "sm_80". */
typedef struct sluice_code_image {
  const char* target;
  const void* data;
  int64_t size_bytes;
} sluice_code_image;

/* A compiled kernel. Borrowed for the call that gets it. */
typedef struct sluice_kernel_code {
  uint32_t struct_size;
  int32_t num_arguments;
  int32_t num_images;
  uint32_t grid[3];         /* blocks of a launch */
  uint32_t block[3];        /* threads of a block */
  const char* key;          /* changes with the operation, its shapes and the plug-in's generator */
  const char* function;     /* the name of the kernel in its source and images */
  sluice_text source;       /* for people, and to be compiled again */
  const int32_t* arguments; /* operands in the order of the kernel's parameters: numbers of
                             * inputs, then of the body's inputs; -1 - i is output i */
  const sluice_code_image* images;
} sluice_kernel_code;

/* Receives code, which is valid during the call. Must not call the plug-in. */
typedef void (*sluice_code_receiver)(void* user_data, const sluice_kernel_code* code);

typedef struct sluice_kernel_codes {
  uint32_t struct_size;
  uint32_t reserved;
  /* Null, or the name of another backend of the same code: this backend compiles for the other
   * where the other has no device. */
  const char* compiles_for;
  /* Compiles a kernel for the plug-in's portable target and for `targets`. `source`, if not null,
   * takes the place of the generated one. The receiver is not called for a kernel without code.
   * Fails: SLUICE_INVALID_ARGUMENT for an unknown target, or with the compiler's words for a source
   * that it refuses; SLUICE_UNAVAILABLE without a compiler. */
  sluice_code (*compile)(sluice_kernel* kernel, const sluice_text* source,
                         const char* const* targets, int32_t num_targets,
                         sluice_code_receiver receive, void* user_data, sluice_message* message);
  /* As kernel_create, from code that `compile` gave in this or another process. Code with another
   * key than this plug-in has for `op` is not used. The code is data of a file: it may be damaged
   * or hostile. */
  sluice_code (*kernel_create)(sluice_backend* backend, int32_t device, const sluice_op* op,
                               const sluice_kernel_code* code, sluice_kernel** kernel,
                               sluice_kernel_info* info, sluice_message* message);
} sluice_kernel_codes;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_KERNEL_CODE_H_ */

/* The extension "sluice.variants/1" of a plug-in: in which other ways it can compute an operation,
 * for whoever measures which one is fastest. Conventions as in sluice/backend.h. */
#ifndef SLUICE_VARIANTS_H_
#define SLUICE_VARIANTS_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VARIANTS "sluice.variants/1"

/* The attribute, a text, by which an operation says in which way it is to be computed. A name that
 * the plug-in does not know, or that does not fit the operation as it is now, counts as absent: a
 * package was tuned elsewhere, and computes the same here. */
#define SLUICE_VARIANT_ATTRIBUTE "sluice_variant"

/* Must not call the plug-in. `name` is valid during the call. */
typedef void (*sluice_variant_visitor)(void* user, const char* name);

typedef struct sluice_variants {
  uint32_t struct_size;
  uint32_t reserved;
  /* Tells the ways beside the plug-in's own choice, which is that of an operation without the
   * attribute, in which `num_cores` cores can compute `op` and which differ from it and from each
   * other; those first that are likely to be faster. All agree but for rounding. All dimensions of
   * `op` are known; the attribute, if it has one, is ignored. */
  sluice_code (*list)(sluice_backend* backend, const sluice_op* op, int32_t num_cores,
                      sluice_variant_visitor visit, void* user, sluice_message* message);
  /* While `steady` is not 0, lists that the calling thread submits, to any group of the plug-in's,
   * run in the same manner however busy the machine is: what they take can be compared. */
  void (*run_steadily)(sluice_backend* backend, int32_t steady);
} sluice_variants;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_VARIANTS_H_ */

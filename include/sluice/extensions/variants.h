/* The extension "sluice.variants/1" of a plug-in: it lists the tactics (here called variants) that
 * can compute an operation, so that `sluice tune` can measure the fastest. Conventions as in
 * sluice/backend.h. */
#ifndef SLUICE_EXTENSIONS_VARIANTS_H_
#define SLUICE_EXTENSIONS_VARIANTS_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VARIANTS "sluice.variants/1"

/* The text attribute that selects the tactic of an operation. A plug-in ignores an unknown name and
 * a name that does not fit the operation: results of a package do not depend on the machine that
 * tuned it. */
#define SLUICE_VARIANT_ATTRIBUTE "sluice_variant"

/* Receives the name of a tactic, which is valid during the call. Must not call the plug-in. */
typedef void (*sluice_variant_visitor)(void* user_data, const char* name);

typedef struct sluice_variants {
  uint32_t struct_size;
  uint32_t reserved;
  /* Calls `visit` for each tactic in which `num_cores` cores can compute `op`, except the default,
   * which the plug-in uses without the attribute. The tactics differ from each other and from the
   * default; the most promising come first. Their results agree except for rounding. All dimensions
   * of `op` are known. The function ignores the attribute of `op`. */
  sluice_code (*list)(sluice_backend* backend, const sluice_op* op, int32_t num_cores,
                      sluice_variant_visitor visit, void* user_data, sluice_message* message);
  /* Controls the calling thread. While `steady` is not 0, lists that this thread submits, to any
   * group of the plug-in, do not adapt to CPU contention, so their times are comparable. */
  void (*run_steadily)(sluice_backend* backend, int32_t steady);
} sluice_variants;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_VARIANTS_H_ */

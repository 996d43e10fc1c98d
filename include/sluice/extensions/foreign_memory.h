/* The extension "sluice.foreign_memory/1" of a plug-in: its command lists copy from and to memory
 * of a device that others in the process allocated. Without the extension the inputs and outputs of
 * a model lie in memory of the host. Conventions as in sluice/backend.h. */
#ifndef SLUICE_EXTENSIONS_FOREIGN_MEMORY_H_
#define SLUICE_EXTENSIONS_FOREIGN_MEMORY_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_FOREIGN_MEMORY "sluice.foreign_memory/1"

typedef struct sluice_foreign_memory {
  uint32_t struct_size;
  uint32_t reserved;
  /* SLUICE_OK if the bytes [address, address + size_bytes) are memory of the device, whoever
   * allocated it. The host asks before each run, and passes such addresses as bindings of copies.
   * Safe from several threads at once. Fails: SLUICE_INVALID_ARGUMENT for memory of the host or of
   * another device, for memory that was freed, and for bytes past its end. */
  sluice_code (*check)(sluice_backend* backend, int32_t device, const void* address,
                       int64_t size_bytes, sluice_message* message);
} sluice_foreign_memory;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_FOREIGN_MEMORY_H_ */

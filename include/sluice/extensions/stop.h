/* The extension "sluice.stop/1" of a plug-in: long kernels end early when the host asks them to.
 * Without the extension the host waits for the end of a kernel. Conventions as in sluice/backend.h.
 */
#ifndef SLUICE_EXTENSIONS_STOP_H_
#define SLUICE_EXTENSIONS_STOP_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_STOP "sluice.stop/1"

/* Returns not 0 if the run shall end now; then it stays so until the list has ended. Takes about
 * 100 ns. Must not call the plug-in. */
typedef int32_t (*sluice_stop_question)(void* user_data);

typedef struct sluice_stop {
  uint32_t struct_size;
  uint32_t reserved;
  /* Registers `question` for the calling thread; null removes it. Every list_submit of this thread,
   * to any group of the plug-in, then asks it on this thread, every few milliseconds while a kernel
   * runs. When it is answered with not 0, the list ends as soon as it can, with SLUICE_CANCELLED;
   * its outputs hold anything. Lists of other threads do not ask. */
  void (*watch)(sluice_backend* backend, sluice_stop_question question, void* user_data);
} sluice_stop;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_STOP_H_ */

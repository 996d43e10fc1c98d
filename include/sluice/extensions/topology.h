/* The extension "sluice.topology/1" of a plug-in: the links between its devices and their speeds.
 * Without the extension a backend's devices count as unconnected.
 *
 * Conventions as in sluice/backend.h. Functions are safe from several threads at once. Links never
 * change while the backend lives. */
#ifndef SLUICE_EXTENSIONS_TOPOLOGY_H_
#define SLUICE_EXTENSIONS_TOPOLOGY_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_TOPOLOGY "sluice.topology/1"

/* A connection of two devices, the same in both directions. */
typedef struct sluice_link {
  uint32_t struct_size;
  int32_t device_a; /* indices of the backend's devices, a < b */
  int32_t device_b;
  int32_t reserved;
  int64_t bytes_per_s; /* in each direction */
  int64_t latency_ns;
} sluice_link;

typedef struct sluice_topology {
  uint32_t struct_size;
  /* Links have the indices 0 to link_count - 1. */
  int32_t (*link_count)(sluice_backend* backend);
  sluice_code (*describe_link)(sluice_backend* backend, int32_t index, sluice_link* link,
                               sluice_message* message);
} sluice_topology;

/* The extension "sluice.device_reset/1": it brings a lost or hung device back. */
#define SLUICE_DEVICE_RESET "sluice.device_reset/1"

typedef struct sluice_device_reset {
  uint32_t struct_size;
  uint32_t reserved;
  /* Work in flight on the device ends with SLUICE_UNAVAILABLE. Groups, streams and memory of the
   * device stay valid, and its memory holds what it held: a device that loses it answers
   * SLUICE_DATA_LOSS, and what was loaded on it must be loaded again. May be called while other
   * threads use the device. */
  sluice_code (*reset)(sluice_backend* backend, int32_t device, sluice_message* message);
} sluice_device_reset;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_TOPOLOGY_H_ */

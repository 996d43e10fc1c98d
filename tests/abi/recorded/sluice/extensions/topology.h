#ifndef SLUICE_EXTENSIONS_TOPOLOGY_H_
#define SLUICE_EXTENSIONS_TOPOLOGY_H_
#include "sluice/backend.h"
#define SLUICE_TOPOLOGY "sluice.topology/1"
typedef struct sluice_link {
  uint32_t struct_size;
  int32_t device_a;
  int32_t device_b;
  int32_t reserved;
  int64_t bytes_per_s;
  int64_t latency_ns;
} sluice_link;
typedef struct sluice_topology {
  uint32_t struct_size;
  int32_t (*link_count)(sluice_backend* backend);
  sluice_code (*describe_link)(sluice_backend* backend, int32_t index, sluice_link* link,
                               sluice_message* message);
} sluice_topology;
#define SLUICE_DEVICE_RESET "sluice.device_reset/1"
typedef struct sluice_device_reset {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_code (*reset)(sluice_backend* backend, int32_t device, sluice_message* message);
} sluice_device_reset;
#endif

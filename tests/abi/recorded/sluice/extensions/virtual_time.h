#ifndef SLUICE_EXTENSIONS_VIRTUAL_TIME_H_
#define SLUICE_EXTENSIONS_VIRTUAL_TIME_H_
#include "sluice/backend.h"
#define SLUICE_VIRTUAL_TIME "sluice.virtual_time/1"
typedef struct sluice_virtual_time {
  uint32_t struct_size;
  int64_t (*now_ns)(sluice_backend* backend);
  int64_t (*next_event_ns)(sluice_backend* backend);
  void (*advance_to)(sluice_backend* backend, int64_t time_ns);
  int64_t (*log_size_bytes)(sluice_backend* backend);
  int64_t (*read_log)(sluice_backend* backend, int64_t offset_bytes, char* target,
                      int64_t capacity_bytes);
  sluice_code (*inject_fault)(sluice_backend* backend, const char* fault, int64_t* id,
                              sluice_message* message);
  sluice_code (*clear_fault)(sluice_backend* backend, int64_t id, sluice_message* message);
  sluice_code (*reset_device)(sluice_backend* backend, int32_t device, sluice_message* message);
  int64_t (*memory_used_bytes)(sluice_backend* backend, int32_t device);
} sluice_virtual_time;
#endif

#ifndef SLUICE_EXTENSIONS_STEP_TIMES_H_
#define SLUICE_EXTENSIONS_STEP_TIMES_H_
#include "sluice/backend.h"
#define SLUICE_STEP_TIMES "sluice.step_times/1"
typedef struct sluice_step_time {
  uint32_t struct_size;
  uint32_t reserved;
  const char* kind;
  const char* name;
  int64_t start_ns;
  int64_t duration_ns;
} sluice_step_time;
typedef void (*sluice_step_observer)(void* user_data, const sluice_step_time* steps,
                                     int32_t num_steps);
typedef struct sluice_step_times {
  uint32_t struct_size;
  void (*observe)(sluice_backend* backend, sluice_step_observer observer, void* user_data);
} sluice_step_times;
#define SLUICE_LIST_MEMORY "sluice.list_memory/1"
typedef struct sluice_list_memory {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t (*held_bytes)(const sluice_command_list* list);
} sluice_list_memory;
#define SLUICE_LIST_EXCHANGE "sluice.list_exchange/1"
typedef struct sluice_list_exchange {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_code (*exchange)(sluice_command_list* list, const int32_t* entries,
                          sluice_kernel* const* kernels, int32_t count, sluice_message* message);
} sluice_list_exchange;
#endif

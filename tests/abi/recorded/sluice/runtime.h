#ifndef SLUICE_RUNTIME_H_
#define SLUICE_RUNTIME_H_
#include "sluice/sluice.h"
typedef struct sluice_runtime sluice_runtime;
SLUICE_API sluice_runtime_code sluice_last_error_runtime_code(void);
SLUICE_API const char* sluice_last_error_remedy(void);
SLUICE_API void sluice_release(const void* object);
typedef struct sluice_runtime_options {
  uint32_t struct_size;
  int32_t num_devices;
  const int32_t* devices;
  const char* backend_dir;
  const char* simulated_machine;
  int64_t demand_budget_bytes;
} sluice_runtime_options;
SLUICE_API sluice_code sluice_runtime_create(const sluice_runtime_options* options,
                                             sluice_runtime** runtime);
typedef struct sluice_connect_options {
  uint32_t struct_size;
  int32_t is_detached;
  const char* session;
  int64_t timeout_ns;
  const char* ca;
  const char* certificate;
  const char* key;
  const char* token;
  int32_t transport;
  const char* session_token;
} sluice_connect_options;
enum { SLUICE_TRANSPORT_DEFAULT = 0, SLUICE_TRANSPORT_GRPC = 1 };
SLUICE_API sluice_code sluice_runtime_connect(const char* address,
                                              const sluice_connect_options* options,
                                              sluice_runtime** runtime);
SLUICE_API const char* sluice_runtime_session_token(sluice_runtime* runtime);
SLUICE_API sluice_code sluice_runtime_close(sluice_runtime* runtime, int64_t drain_ns);
typedef struct sluice_device {
  int32_t id;
  int32_t num_cores;
  const char* kind;
  const char* name;
  const char* backend;
  const char* bus_address;
  int64_t memory_bytes;
} sluice_device;
typedef struct sluice_device_list {
  size_t count;
  const sluice_device* const* items;
} sluice_device_list;
SLUICE_API sluice_code sluice_runtime_devices(sluice_runtime* runtime,
                                              const sluice_device_list** devices);
typedef struct sluice_group_options {
  uint32_t struct_size;
  int32_t num_cores;
  const char* kind;
  const int32_t* devices;
  int32_t num_devices;
  int32_t isolation;
  int64_t memory_bytes;
  int64_t timeout_ns;
} sluice_group_options;
enum { SLUICE_ISOLATION_DEFAULT = 0, SLUICE_ISOLATION_STREAM = 1, SLUICE_ISOLATION_PROCESS = 2 };
SLUICE_API sluice_code sluice_runtime_create_group(sluice_runtime* runtime,
                                                   const sluice_group_options* options,
                                                   uint64_t* group);
SLUICE_API sluice_code sluice_runtime_destroy_group(sluice_runtime* runtime, uint64_t group);
typedef struct sluice_core {
  int32_t device;
  int32_t core;
} sluice_core;
typedef struct sluice_group_info {
  uint64_t group;
  int32_t is_implicit;
  int32_t num_models;
  size_t num_cores;
  const sluice_core* cores;
  const char* active_model;
  int64_t num_switches;
  int64_t memory_used_bytes;
  int64_t max_memory_bytes;
} sluice_group_info;
typedef struct sluice_group_list {
  size_t count;
  const sluice_group_info* const* items;
} sluice_group_list;
SLUICE_API sluice_code sluice_runtime_groups(sluice_runtime* runtime,
                                             const sluice_group_list** groups);
enum { SLUICE_NAN_PASS = 0, SLUICE_NAN_FLAG = 1, SLUICE_NAN_FAIL = 2 };
typedef struct sluice_function_options {
  uint32_t struct_size;
  int32_t share;
  int32_t priority;
  int32_t batch_rows;
  int64_t memory_bytes;
  int64_t keep_warm_ns;
} sluice_function_options;
typedef struct sluice_load_options {
  uint32_t struct_size;
  int32_t has_fd;
  const char* path;
  const void* data;
  size_t size_bytes;
  int32_t fd;
  int32_t is_server_path;
  const char* name;
  uint64_t group;
  int32_t depth;
  int32_t queue_limit;
  int32_t nan_policy;
  int32_t is_on_demand;
  int32_t is_pinned;
  int32_t isolation;
  int64_t timeout_ns;
  const sluice_function_options* function;
  int64_t max_recorded_bytes;
  int32_t has_seed;
  int32_t has_batching;
  uint64_t seed;
  int64_t batch_rows;
  int64_t max_delay_ns;
  int64_t max_run_ns;
  int32_t weight;
  int64_t request_timeout_ns;
  int32_t cores;
} sluice_load_options;
SLUICE_API sluice_code sluice_set_load_option(sluice_load_options* options, const char* name,
                                              int64_t number);
SLUICE_API sluice_code sluice_runtime_load(sluice_runtime* runtime,
                                           const sluice_load_options* options, uint64_t* model);
SLUICE_API sluice_code sluice_runtime_unload(sluice_runtime* runtime, uint64_t model,
                                             int64_t drain_ns);
SLUICE_API sluice_code sluice_runtime_start(sluice_runtime* runtime, uint64_t model);
SLUICE_API sluice_code sluice_runtime_stop(sluice_runtime* runtime, uint64_t model,
                                           int64_t drain_ns);
SLUICE_API sluice_code sluice_runtime_reset(sluice_runtime* runtime, uint64_t model);
enum {
  SLUICE_MODEL_LOADED = 0,
  SLUICE_MODEL_STARTED = 1,
  SLUICE_MODEL_STOPPED = 2,
  SLUICE_MODEL_FAILED = 3,
  SLUICE_MODEL_UNLOADED = 4
};
enum { SLUICE_LOAD_NORMAL = 0, SLUICE_LOAD_SHARED = 1 };
typedef struct sluice_footprint {
  int64_t constants_bytes;
  int64_t packed_bytes;
  int64_t context_bytes;
  int64_t total_bytes;
  int32_t depth;
  int32_t is_context_known;
} sluice_footprint;
SLUICE_API sluice_code sluice_runtime_estimate(sluice_runtime* runtime,
                                               const sluice_load_options* options,
                                               const sluice_footprint** footprint);
typedef struct sluice_graph_options {
  uint32_t struct_size;
  const char* path;
  const char* text;
  const char* name;
} sluice_graph_options;
SLUICE_API sluice_code sluice_runtime_deploy_graph(sluice_runtime* runtime,
                                                   const sluice_graph_options* options,
                                                   uint64_t* graph);
typedef struct sluice_loaded_model {
  uint64_t model;
  const char* name;
  int32_t phase;
  int32_t mode;
  uint64_t group;
  int32_t is_implicit;
  int32_t depth;
  int32_t queue_limit;
  int32_t is_on_demand;
  size_t num_inputs;
  size_t num_outputs;
  const sluice_tensor_spec* const* inputs;
  const sluice_tensor_spec* const* outputs;
  sluice_footprint footprint;
  int64_t slots_bytes;
  int32_t has_fixed_inputs;
} sluice_loaded_model;
typedef struct sluice_loaded_model_list {
  size_t count;
  const sluice_loaded_model* const* items;
} sluice_loaded_model_list;
typedef struct sluice_combine_options {
  uint32_t struct_size;
  int32_t is_round_robin;
  int32_t queue_limit;
  int32_t has_batching;
  int64_t batch_rows;
  int64_t max_delay_ns;
  int64_t timeout_ns;
  const char* name;
} sluice_combine_options;
SLUICE_API sluice_code sluice_runtime_combine(sluice_runtime* runtime, const uint64_t* models,
                                              size_t num_models,
                                              const sluice_combine_options* options,
                                              uint64_t* model);
SLUICE_API sluice_code sluice_runtime_models(sluice_runtime* runtime,
                                             const sluice_loaded_model_list** models);
SLUICE_API sluice_code sluice_runtime_model(sluice_runtime* runtime, uint64_t model,
                                            const sluice_loaded_model** description);
SLUICE_API sluice_code sluice_runtime_find_model(sluice_runtime* runtime, const char* name,
                                                 uint64_t* model);
#endif

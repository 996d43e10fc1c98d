/* The runtime in C: devices, core groups and loaded models, in this process or in a daemon.
 *
 *   sluice_runtime_create   an engine in this process
 *   sluice_runtime_connect  a daemon, `sluiced`, over a Unix socket or TCP
 *
 * Both give the same handle. A function that one of the two does not support fails there with
 * UNIMPLEMENTED; its comment says so. All other functions work on both.
 *
 * Errors:    as in sluice/sluice.h. sluice_last_error_runtime_code() is the runtime code of the
 * last failure (sluice/status.h), sluice_last_error_remedy() an advice. Threads:   every function
 * may be called from any thread. "Blocks" marks functions that wait; a callback (sluice/request.h)
 * must not call them and gets FAILED_PRECONDITION. Handles:   groups, models and requests are
 * numbers, never used twice in a runtime. A number that does not exist, or no longer, fails with
 * NOT_FOUND. A closed runtime fails with FAILED_PRECONDITION, and so does every runtime in the
 * child of a fork. Ownership: what a function returns through a pointer to const belongs to the
 * caller, who frees it with sluice_release. It stays valid after sluice_runtime_close. Versions:
 * structs that the caller fills start with struct_size = sizeof(struct). A program that was
 * compiled for an older library keeps running with a newer one: fields past its struct_size have
 * their defaults. All fields may be zero unless stated otherwise.
 *
 * sluice/request.h runs models. C++ programs may prefer sluice/runtime.hpp.
 */
#ifndef SLUICE_RUNTIME_H_
#define SLUICE_RUNTIME_H_

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_runtime sluice_runtime;

/* The runtime code of the calling thread's last failure; 0 if there is none. */
SLUICE_API sluice_runtime_code sluice_last_error_runtime_code(void);
/* What to do about the calling thread's last failure, a sentence. A static string. */
SLUICE_API const char* sluice_last_error_remedy(void);

/* Frees a list, a description or statistics. Ignores null, and an object that was freed before. */
SLUICE_API void sluice_release(const void* object);

/* ---- a runtime ------------------------------------------------------------------------------ */

typedef struct sluice_runtime_options {
  uint32_t struct_size;
  int32_t num_devices;     /* length of `devices`; 0: all devices of the machine */
  const int32_t* devices;  /* logical ids, as `sluice discover` prints them */
  const char* backend_dir; /* folder of plug-ins; null: $SLUICE_BACKEND_PATH, then the default */
  /* JSON file that describes a simulated machine (docs/sim.md), used instead of this one. */
  const char* simulated_machine;
  int64_t demand_budget_bytes; /* limit for models loaded on demand; 0: none */
} sluice_runtime_options;

/* Finds devices and plug-ins and creates an engine in this process. `options` may be null. Blocks.
 * Fails: NOT_FOUND for a missing folder, file or device. */
SLUICE_API sluice_code sluice_runtime_create(const sluice_runtime_options* options,
                                             sluice_runtime** runtime);

typedef struct sluice_connect_options {
  uint32_t struct_size;
  /* 1: what this runtime makes stays when it closes, and every client may use it. 0: it belongs to
   * a session of the daemon, which ends with this runtime or this process. */
  int32_t is_detached;
  const char* session; /* name of the session in the daemon's lists; null: "libsluice" */
  int64_t timeout_ns;  /* wait for the daemon to be there; 0: 5 seconds */
  /* PEM files, over TCP: who signed the daemon's certificate; null: no TLS. For mutual TLS also a
   * certificate and key of this program. */
  const char* ca;
  const char* certificate;
  const char* key;
  const char* token; /* over TCP, where the daemon wants one; null: none */
  int32_t transport; /* SLUICE_TRANSPORT_ */
  /* Joins another connection's session instead of opening one; null: opens one. */
  const char* session_token;
} sluice_connect_options;

enum {
  SLUICE_TRANSPORT_DEFAULT = 0, /* a ring in shared memory where it is possible; else gRPC */
  SLUICE_TRANSPORT_GRPC = 1
};

/* Connects to `sluiced` at `address`: "unix:PATH", "HOST:PORT" or "[IPV6]:PORT"; null for
 * "unix:/run/sluice.sock". `options` may be null. Over a Unix socket, sluice_runtime_infer uses a
 * ring in shared memory. Needs libsluice_client beside libsluice. Blocks.
 * Fails: UNAVAILABLE if no daemon answers; UNIMPLEMENTED without libsluice_client;
 * INVALID_ARGUMENT for the form of an address. */
SLUICE_API sluice_code sluice_runtime_connect(const char* address,
                                              const sluice_connect_options* options,
                                              sluice_runtime** runtime);

/* The secret by which another connection joins the session. "" without one, for a local runtime,
 * and for a runtime that is null or closed. Lives as long as the runtime. */
SLUICE_API const char* sluice_runtime_session_token(sluice_runtime* runtime);

/* Refuses new calls, gives requests in flight `drain_ns` nanoseconds, cancels the rest, unloads all
 * models and destroys the handle. All requests have their reply, and all callbacks have returned,
 * when the function returns. Waits for calls of other threads. Null is ignored. Blocks.
 * Fails: FAILED_PRECONDITION for a runtime that is closed, and from a callback. */
SLUICE_API sluice_code sluice_runtime_close(sluice_runtime* runtime, int64_t drain_ns);

/* ---- devices and core groups ---------------------------------------------------------------- */

typedef struct sluice_device {
  int32_t id;              /* logical id */
  int32_t num_cores;       /* units of allocation; 0 if no plug-in drives the device */
  const char* kind;        /* "cpu", "gpu", "sim" */
  const char* name;        /* for people */
  const char* backend;     /* the plug-in that drives it; "" for kind "cpu" */
  const char* bus_address; /* "0000:1c:00.0"; "" if it has none */
  int64_t memory_bytes;    /* 0 if unknown */
} sluice_device;

typedef struct sluice_device_list {
  size_t count;
  const sluice_device* const* items;
} sluice_device_list;

/* The devices of the runtime, in the order of core ranges. */
SLUICE_API sluice_code sluice_runtime_devices(sluice_runtime* runtime,
                                              const sluice_device_list** devices);

/* What to reserve: cores of connected devices, together. */
typedef struct sluice_group_options {
  uint32_t struct_size;
  int32_t num_cores;      /* 0: the longest free range */
  const char* kind;       /* kind of device; null: any */
  const int32_t* devices; /* logical ids of eligible devices; null: any */
  int32_t num_devices;    /* length of `devices` */
  int32_t isolation;      /* SLUICE_ISOLATION_ */
  int64_t memory_bytes;   /* memory limit; 0: the cores' share of their devices */
  int64_t timeout_ns;     /* for cores that other groups hold: 0 fails at once, -1 waits */
} sluice_group_options;

enum {
  SLUICE_ISOLATION_DEFAULT = 0, /* a daemon's setting; else stream */
  SLUICE_ISOLATION_STREAM = 1,  /* models run in the process of the runtime */
  SLUICE_ISOLATION_PROCESS = 2  /* in a worker process; daemons only */
};

/* Reserves cores for models that are loaded on the group later. `options` may be null. Blocks.
 * Fails: RESOURCE_EXHAUSTED, runtime code NOT_ENOUGH_CORES: the message lists free and owned cores;
 * DEADLINE_EXCEEDED; NOT_FOUND for an unknown device. A daemon is asked for the cores again and
 * again, so that its clients get them in no certain order. */
SLUICE_API sluice_code sluice_runtime_create_group(sluice_runtime* runtime,
                                                   const sluice_group_options* options,
                                                   uint64_t* group);
/* Blocks. Fails: NOT_FOUND; FAILED_PRECONDITION while models are loaded on it. */
SLUICE_API sluice_code sluice_runtime_destroy_group(sluice_runtime* runtime, uint64_t group);

typedef struct sluice_core {
  int32_t device;
  int32_t core;
} sluice_core;

/* A core group. */
typedef struct sluice_group_info {
  uint64_t group;
  int32_t is_implicit; /* a load created it; it ends with its model */
  int32_t num_models;
  size_t num_cores;
  const sluice_core* cores; /* [num_cores] */
  const char* active_model; /* "" if none is started */
  int64_t num_switches;     /* from one model to another */
  int64_t memory_used_bytes;
  int64_t max_memory_bytes; /* -1: none */
} sluice_group_info;

typedef struct sluice_group_list {
  size_t count;
  const sluice_group_info* const* items;
} sluice_group_list;

/* All groups; of a daemon also those of other clients. */
SLUICE_API sluice_code sluice_runtime_groups(sluice_runtime* runtime,
                                             const sluice_group_list** groups);

/* ---- models --------------------------------------------------------------------------------- */

enum {
  SLUICE_NAN_PASS = 0, /* outputs are not checked */
  SLUICE_NAN_FLAG = 1, /* a reply with NaN has the runtime code NUMERIC_ERROR, and its outputs */
  SLUICE_NAN_FAIL = 2  /* such a request fails with DATA_LOSS */
};

/* A function: a model that takes turns with others on a lane of cores, gives its memory back when
 * it has had no requests for a while, and starts again with the next one. */
typedef struct sluice_function_options {
  uint32_t struct_size;
  int32_t share;    /* of its lane's time, against functions of the same priority; 0: 1 */
  int32_t priority; /* a function with a higher one runs first */
  /* Largest number of rows (first dimension) of waiting requests that are joined to one run; 0:
   * each request runs alone. The first dimension of all inputs and outputs must be one symbol, and
   * the rows of the model independent of each other. No request waits for others to come. */
  int32_t batch_rows;
  int64_t memory_bytes; /* quota of constants and contexts together; 0: none */
  /* From the last request to the unload. 0: 60 s; -1: after each turn; INT64_MAX: never, except to
   * make room for another. */
  int64_t keep_warm_ns;
} sluice_function_options;

/* How to load a model. Exactly one of `path`, `data` and `has_fd` gives the `.sluice` package. */
typedef struct sluice_load_options {
  uint32_t struct_size;
  int32_t has_fd;   /* 1: the package is the regular file `fd` */
  const char* path; /* of a package on this machine */
  const void* data; /* the package in memory, copied by the load */
  size_t size_bytes;
  int32_t fd;             /* stays the caller's */
  int32_t is_server_path; /* 1: `path` is on the daemon's machine */
  const char* name;       /* null: the name of the file */
  uint64_t group;         /* 0: the load creates a group and starts the model */
  int32_t depth;          /* requests that run at a time; 0: chosen by the cores */
  /* Requests that may wait beyond the depth. 0: 64 per slot; -1: none. */
  int32_t queue_limit;
  int32_t nan_policy;   /* SLUICE_NAN_ */
  int32_t is_on_demand; /* 1: loaded at the first request, unloaded for others; not in a daemon */
  int32_t is_pinned;    /* 1: a model on demand is not unloaded for others */
  int32_t isolation;    /* SLUICE_ISOLATION_ of the group that the load creates */
  /* For cores that other groups hold: as sluice_group_options. UNIMPLEMENTED where they are taken
   * and the package is sent to a daemon, which would be repeated: give a group then. */
  int64_t timeout_ns;
  /* Not null: deploys a function. `depth` is the number of its requests in one turn (0: 1). Not
   * with a group or on demand. SLUICE_ISOLATION_PROCESS: in a cell of the daemon. */
  const sluice_function_options* function;
  /* As in sluice_open_options: what each slot keeps for shapes of earlier runs. Not for functions.
   */
  int64_t max_recorded_bytes;
  int32_t has_seed;     /* as sluice_open_options */
  int32_t has_batching; /* 1: waiting requests run as one, joined along the leading dimension */
  uint64_t seed;        /* of random operators */
  /* With has_batching. The first dimension of all inputs and outputs must be one symbol or one
   * number, and the rows of the model independent of each other. A request then has any number of
   * rows. */
  int64_t batch_rows;   /* largest number of rows of a run; 0: the compiled leading dimension */
  int64_t max_delay_ns; /* longest time that a request waits for others */
  /* Longest time of one run, which is stopped then, with DEADLINE_EXCEEDED. 0: none, or the
   * daemon's default; -1: none. */
  int64_t max_run_ns;
  int32_t weight; /* share of the cores among models that take turns: 1 to 1000; 0: 1 */
  /* Time limit of requests that bring none, from their arrival: DEADLINE_EXCEEDED; 0: none. */
  int64_t request_timeout_ns;
  /* Cores of a model of one segment. 0: those that it was compiled for, or all that are free of a
   * model that writes texts; -1: all that are free. */
  int32_t cores;
} sluice_load_options;

/* Sets a number of the options by the name of its field, "depth". For bindings. Needs struct_size,
 * which says what fields there are. Fails: NOT_FOUND for another name; INVALID_ARGUMENT for a
 * number that the field cannot hold; the field is unchanged then. */
SLUICE_API sluice_code sluice_set_load_option(sluice_load_options* options, const char* name,
                                              int64_t number);

/* Loads a model. Without a group the model has its own group and is started; on a group it is
 * loaded, and sluice_runtime_start starts it. A function takes requests at once and all the time:
 * sluice_runtime_start makes it warm, sluice_runtime_stop cold. Blocks.
 * Fails: NOT_FOUND for a missing file or group; INVALID_ARGUMENT for a file of another
 * format; DATA_LOSS for a damaged file; RESOURCE_EXHAUSTED for too few cores or too little
 * memory; UNIMPLEMENTED for an operation that no backend supports. */
SLUICE_API sluice_code sluice_runtime_load(sluice_runtime* runtime,
                                           const sluice_load_options* options, uint64_t* model);

/* Stops a started model, frees its memory, and destroys its implicit group. Requests in flight have
 * `drain_ns` nanoseconds, then end with CANCELLED. Blocks. Fails: NOT_FOUND. */
SLUICE_API sluice_code sluice_runtime_unload(sluice_runtime* runtime, uint64_t model,
                                             int64_t drain_ns);

/* One model of a group is started at a time, and it alone takes requests.
 * Fails: FAILED_PRECONDITION while another model of the group is started. */
SLUICE_API sluice_code sluice_runtime_start(sluice_runtime* runtime, uint64_t model);
/* Refuses new requests; those in flight as sluice_runtime_unload. Blocks. */
SLUICE_API sluice_code sluice_runtime_stop(sluice_runtime* runtime, uint64_t model,
                                           int64_t drain_ns);
/* Makes a failed model a stopped one. Blocks. */
SLUICE_API sluice_code sluice_runtime_reset(sluice_runtime* runtime, uint64_t model);

enum {
  SLUICE_MODEL_LOADED = 0,
  SLUICE_MODEL_STARTED = 1, /* takes requests */
  SLUICE_MODEL_STOPPED = 2,
  SLUICE_MODEL_FAILED = 3,  /* reset or unload it */
  SLUICE_MODEL_UNLOADED = 4 /* a model on demand that is not in memory now */
};

enum {
  SLUICE_LOAD_NORMAL = 0, /* every segment has cores of its own: requests overlap */
  SLUICE_LOAD_SHARED = 1  /* segments take turns on the same cores */
};

/* The memory of a model. */
typedef struct sluice_footprint {
  int64_t constants_bytes; /* mapped from the package; shared by all its loads */
  int64_t packed_bytes;    /* repacked constants; shared, too */
  int64_t context_bytes;   /* of one slot: intermediate tensors and outputs */
  int64_t total_bytes;     /* with `depth` slots */
  int32_t depth;
  int32_t is_context_known; /* 0: shapes are only known at run time */
} sluice_footprint;

/* Reads sizes; loads nothing. Fails: as sluice_runtime_load for the package. Blocks. */
SLUICE_API sluice_code sluice_runtime_estimate(sluice_runtime* runtime,
                                               const sluice_load_options* options,
                                               const sluice_footprint** footprint);

/* Exactly one of `path` and `text` gives the graph as JSON, of at most 1 MiB:
 *   {"functions": ["find=detector", "read=reader"], "edges": ["find.boxes=read.boxes"],
 *    "outputs": ["find.boxes"]}
 * "functions" has nodes NODE=FUNCTION; a function by its name or its handle, 0x160000000. */
typedef struct sluice_graph_options {
  uint32_t struct_size;
  const char* path; /* of a file on this machine */
  const char* text;
  const char* name; /* null: the name of the file; "graph" for a text */
} sluice_graph_options;

/* Deploys a graph of functions, which runs them one after the other in one request. Inputs and
 * outputs without an edge, and those of "outputs", are the graph's, named "NODE.TENSOR". It is a
 * model from then on: sluice_runtime_infer and sluice_runtime_submit run it,
 * sluice_runtime_models lists it, sluice_runtime_unload removes it. A function is unloaded after
 * the graphs that have it. Blocks.
 * Fails: NOT_FOUND for a missing file or function; INVALID_ARGUMENT for JSON of another
 * form, a name of several functions, edges in a circle, and tensors that are unknown or do not fit;
 * PERMISSION_DENIED for a function of another session; RESOURCE_EXHAUSTED for too many
 * graphs; UNIMPLEMENTED by a daemon of an older release. */
SLUICE_API sluice_code sluice_runtime_deploy_graph(sluice_runtime* runtime,
                                                   const sluice_graph_options* options,
                                                   uint64_t* graph);

typedef struct sluice_loaded_model {
  uint64_t model;
  const char* name;
  int32_t phase; /* SLUICE_MODEL_ */
  int32_t mode;  /* SLUICE_LOAD_ */
  uint64_t group;
  int32_t is_implicit; /* the group ends with the model */
  int32_t depth;
  int32_t queue_limit;
  int32_t is_on_demand;
  size_t num_inputs;
  size_t num_outputs;
  const sluice_tensor_spec* const* inputs;  /* [num_inputs], in the order of the signature */
  const sluice_tensor_spec* const* outputs; /* [num_outputs] */
  sluice_footprint footprint;
  int64_t slots_bytes;      /* measured: slots and device buffers */
  int32_t has_fixed_inputs; /* initializers that the file lists as inputs are constants */
} sluice_loaded_model;

typedef struct sluice_loaded_model_list {
  size_t count;
  const sluice_loaded_model* const* items;
} sluice_loaded_model_list;

/* How models serve as one. */
typedef struct sluice_combine_options {
  uint32_t struct_size;
  int32_t is_round_robin; /* 1: models take turns; 0: the one with the fewest requests is next */
  int32_t queue_limit;    /* requests that may wait while every model is full; 0: 1024 */
  int32_t has_batching; /* 1: the models join their requests from now on, as sluice_load_options */
  int64_t batch_rows;   /* of a batch; 0: the compiled leading dimension */
  int64_t max_delay_ns; /* longest wait for a full batch */
  int64_t timeout_ns;   /* of requests without one; 0: none */
  const char* name;     /* null: "combined" */
} sluice_combine_options;

/* Makes one model of `num_models` started copies of a model: its requests go to the copy that is
 * least busy, and are joined to batches if wanted. sluice_runtime_unload ends it; its models stay
 * loaded and are unloaded after it. Not in a daemon. `options` may be null.
 * Fails: NOT_FOUND; INVALID_ARGUMENT for models of different signatures, or for batching of
 * a model without rows. */
SLUICE_API sluice_code sluice_runtime_combine(sluice_runtime* runtime, const uint64_t* models,
                                              size_t num_models,
                                              const sluice_combine_options* options,
                                              uint64_t* model);

/* All models; of a daemon also those of other clients. */
SLUICE_API sluice_code sluice_runtime_models(sluice_runtime* runtime,
                                             const sluice_loaded_model_list** models);
/* One model. Fails: NOT_FOUND. */
SLUICE_API sluice_code sluice_runtime_model(sluice_runtime* runtime, uint64_t model,
                                            const sluice_loaded_model** description);
/* The model of this name. Fails: NOT_FOUND; the message lists the names. */
SLUICE_API sluice_code sluice_runtime_find_model(sluice_runtime* runtime, const char* name,
                                                 uint64_t* model);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_H_ */

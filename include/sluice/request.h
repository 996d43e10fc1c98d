/* Requests in C: run a model of a runtime, at once or later.
 *
 *   sluice_runtime_infer    runs a request and waits for its reply
 *   sluice_runtime_submit   returns a request id: poll, wait for or cancel it, or get a callback
 *
 * Memory: inputs, and outputs that the caller provides, are borrowed until the reply. A request
 *         that was cancelled or timed out has its reply only after the model stopped using them.
 *         A local runtime reads and writes memory that is aligned to 64 bytes in place.
 * Replies: own their outputs. They stay valid after sluice_runtime_close.
 */
#ifndef SLUICE_REQUEST_H_
#define SLUICE_REQUEST_H_

#include "sluice/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_reply sluice_reply;

/* A tensor by name; null: by its position in the array. */
typedef struct sluice_named_array {
  const char* name;
  sluice_array array;
} sluice_named_array;

/* Memory for an output; `name` as above. */
typedef struct sluice_output_memory {
  const char* name;
  void* data;
  int64_t capacity_bytes;
} sluice_output_memory;

/* Called once, on any thread, when a submitted request ends. `code` is SLUICE_OK with a `reply`,
 * which the function frees, or another code with a null reply and the thread's sluice_last_error.
 * It may call functions that do not block, sluice_runtime_submit and sluice_runtime_cancel among
 * them. It should return soon: a callback holds up the group that called it. A C++ exception that
 * leaves it is dropped. */
typedef void (*sluice_reply_callback)(void* user_data, uint64_t request, sluice_code code,
                                      sluice_reply* reply);

/* Memory for inputs and outputs of requests. */
typedef struct sluice_shared_memory {
  void* data;
  int64_t size_bytes;
} sluice_shared_memory;

/* Zeroed memory that a daemon maps, too: tensors inside it, at offsets that are multiples of 64,
 * travel in no message. Each tensor of a request may lie in such memory or not. The daemon reads
 * inputs in place where the model only computes with them, and copies outputs to it once;
 * sluice_runtime_submit gets outputs in messages. In a local runtime it is ordinary memory, used in
 * place. No request may use the memory when sluice_release frees it. Blocks.
 * Fails: INVALID_ARGUMENT for a size that is not positive; RESOURCE_EXHAUSTED without
 * memory or over the daemon's limit; FAILED_PRECONDITION over TCP and without a session. */
SLUICE_API sluice_code sluice_runtime_share(sluice_runtime* runtime, int64_t size_bytes,
                                            const sluice_shared_memory** memory);

/* An input that lies in the exchange of a daemon, below. */
typedef struct sluice_exchanged_input {
  const char* name; /* not null */
  uint64_t exchange;
} sluice_exchanged_input;

typedef struct sluice_request_options {
  uint32_t struct_size;
  int32_t priority;     /* a higher number runs first */
  int64_t timeout_ns;   /* until the reply; 0: none. Then DEADLINE_EXCEEDED. */
  int32_t wants_detail; /* 1: sluice_reply_detail has the times and cores of the request */
  int32_t num_outputs;  /* length of `outputs` */
  const sluice_output_memory* outputs; /* outputs without memory here are in the reply's memory */
  sluice_reply_callback on_done;       /* sluice_runtime_submit only; null: poll or wait */
  void* user_data;                     /* for on_done */
  /* Daemon only. `exchanged`: inputs read from its exchange, beside `inputs`; null: none. `kept`:
   * names of outputs left in the exchange for ttl_ns nanoseconds; 0: the daemon's default. */
  int32_t num_exchanged; /* length of `exchanged` */
  int32_t num_kept;      /* length of `kept` */
  const sluice_exchanged_input* exchanged;
  const char* const* kept;
  int64_t ttl_ns;
  /* The caller's span and its state, as W3C's Trace Context writes them: a daemon's spans of the
   * request are below it. Null: none. */
  const char* traceparent;
  const char* tracestate;
  /* 1, for sluice_runtime_submit without on_done and `outputs`: the daemon keeps the request and
   * its reply. Any connection of the session may poll, wait for and cancel it by its id. The daemon
   * may drop a reply after 60 seconds, and drops the oldest of more than 4096. Unloading the model
   * and the end of the session end the request. Inputs in memory of sluice_runtime_share
   * must not change until the reply; others are copied. */
  int32_t is_posted;
} sluice_request_options;

/* Runs a model. `inputs` has `num_inputs` elements; `options` may be null. On success `*reply` is
 * to be freed with sluice_reply_free; on failure it is null. Blocks.
 * Fails: INVALID_ARGUMENT, runtime code BAD_INPUT; the message names the input, the given and the
 * expected type. RESOURCE_EXHAUSTED, runtime code QUEUE_FULL. DEADLINE_EXCEEDED. CANCELLED if
 * the model was stopped. FAILED_PRECONDITION if it is not started. UNAVAILABLE if the
 * device or the daemon is lost. */
SLUICE_API sluice_code sluice_runtime_infer(sluice_runtime* runtime, uint64_t model,
                                            const sluice_named_array* inputs, size_t num_inputs,
                                            const sluice_request_options* options,
                                            sluice_reply** reply);

/* Submits a request. With `on_done` the callback takes the reply, and the id serves
 * sluice_runtime_cancel until then; without it the reply waits for poll or wait. After a failure
 * the callback is never called. Blocks for a posted request, until the daemon has it.
 * Fails: as sluice_runtime_infer. For a posted request also UNIMPLEMENTED on a local runtime and by
 * an older daemon; FAILED_PRECONDITION without a session; RESOURCE_EXHAUSTED for more than 4096 in
 * flight. */
SLUICE_API sluice_code sluice_runtime_submit(sluice_runtime* runtime, uint64_t model,
                                             const sluice_named_array* inputs, size_t num_inputs,
                                             const sluice_request_options* options,
                                             uint64_t* request);

/* Takes the reply of a finished request; its id is spent then, also by a failure of the request.
 * Blocks for a posted request, until the daemon answers.
 * Fails: UNAVAILABLE, runtime code PENDING, while the request is in flight; NOT_FOUND for an id
 * that is unknown or spent; else with the request's error. */
SLUICE_API sluice_code sluice_runtime_poll(sluice_runtime* runtime, uint64_t request,
                                           sluice_reply** reply);
/* Waits at most `timeout_ns` nanoseconds (-1: without limit), then polls. The calling thread may
 * run requests meanwhile. Blocks. One caller waits for a posted request: where another one comes,
 * the first fails with UNAVAILABLE, runtime code PENDING, before its time. CANCELLED if another
 * thread closes the runtime meanwhile. */
SLUICE_API sluice_code sluice_runtime_wait(sluice_runtime* runtime, uint64_t request,
                                           int64_t timeout_ns, sluice_reply** reply);
/* Ends a request in flight with CANCELLED; no effect on a finished one. Its reply is still to
 * be taken. Blocks for a posted request, until the daemon answers. Fails: NOT_FOUND. */
SLUICE_API sluice_code sluice_runtime_cancel(sluice_runtime* runtime, uint64_t request);

/* SLUICE_RUNTIME_CODE_OK, or SLUICE_RUNTIME_CODE_NUMERIC_ERROR from a model with SLUICE_NAN_FLAG.
 */
SLUICE_API sluice_runtime_code sluice_reply_runtime_code(const sluice_reply* reply);
/* Number of outputs, in the order of the signature. */
SLUICE_API size_t sluice_reply_num_outputs(const sluice_reply* reply);
/* Null if the index is out of range. Lives as long as the reply. */
SLUICE_API const char* sluice_reply_output_name(const sluice_reply* reply, size_t index);
/* Fills `array` with an output; null means the only one. Its memory lives as long as the reply, or
 * is the caller's. Fails: NOT_FOUND; the message lists the names. */
SLUICE_API sluice_code sluice_reply_output(const sluice_reply* reply, const char* name,
                                           sluice_array* array);

/* Writes the index of an output that stays in the exchange, 0 for another one; `name` as above.
 * Such an output has no array here. Fails: NOT_FOUND; the message lists the names. */
SLUICE_API sluice_code sluice_reply_exchange(const sluice_reply* reply, const char* name,
                                             uint64_t* exchange);

/* Where and how long a request ran. */
typedef struct sluice_reply_detail_info {
  uint64_t group;
  int64_t queue_ns;   /* from submission to the first stage */
  int64_t copy_ns;    /* in and out */
  int64_t compute_ns; /* all segments */
  size_t num_cores;
  const int32_t* cores; /* [num_cores] */
  size_t num_segments;
  const char* const* backends; /* [num_segments] */
} sluice_reply_detail_info;

/* Null unless the request wanted it. Lives as long as the reply. */
SLUICE_API const sluice_reply_detail_info* sluice_reply_detail(const sluice_reply* reply);

/* Frees the reply and the memory of its outputs; null is allowed. */
SLUICE_API void sluice_reply_free(sluice_reply* reply);

/* ---- the exchange of a daemon --------------------------------------------------------------- */

/* A daemon keeps tensors between requests, each by an index. A tensor belongs to the session that
 * put, kept or fetched it, and leaves when it is removed, when its time to live is over or when the
 * session ends. The functions block, and fail with UNIMPLEMENTED on a local runtime, with
 * NOT_FOUND for an index that is not there for this session, or no longer, and with
 * INVALID_ARGUMENT for a time to live that is negative or over an hour; 0 is the daemon's
 * default, 60 seconds. */

/* Puts a copy of `array` there. Fails: RESOURCE_EXHAUSTED over the session's limits. */
SLUICE_API sluice_code sluice_runtime_put_tensor(sluice_runtime* runtime, const sluice_array* array,
                                                 int64_t ttl_ns, uint64_t* exchange);
/* Gives a reply with the tensor as its only output. Fails: RESOURCE_EXHAUSTED for one that is
 * larger than a message of the daemon. */
SLUICE_API sluice_code sluice_runtime_get_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                 sluice_reply** reply);
/* Requests that read it keep it until they end. */
SLUICE_API sluice_code sluice_runtime_remove_tensor(sluice_runtime* runtime, uint64_t exchange);

/* Copies the tensor to a device of the daemon that has memory of its own. Requests of models on
 * that device then read it there, as often as they like, until it leaves the exchange; the bytes of
 * the host stay. `*from`: the device that the copy came from over a link, or `device` if it had it;
 * SLUICE_TENSOR_OF_HOST if it came from the host. Fails: INVALID_ARGUMENT for no such device, one
 * that works on the host's memory, and for strings; RESOURCE_EXHAUSTED without memory there. */
#define SLUICE_TENSOR_OF_HOST (-1)
SLUICE_API sluice_code sluice_runtime_bring_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                   int32_t device, int32_t* from);

/* What a daemon of another host needs to fetch a tensor. */
typedef struct sluice_tensor_offer {
  uint64_t exchange;
  const char* key; /* a secret */
} sluice_tensor_offer;

/* Lets other daemons fetch the tensor while it is there: those that `exchange_peers` of this
 * daemon's settings lists. The same key each time. Fails: FAILED_PRECONDITION if it lists none.
 */
SLUICE_API sluice_code sluice_runtime_offer_tensor(sluice_runtime* runtime, uint64_t exchange,
                                                   const sluice_tensor_offer** offer);

typedef struct sluice_fetch_options {
  uint32_t struct_size;
  const char* from;  /* HOST:PORT of the other daemon's exchange */
  uint64_t exchange; /* of the offer there, and its key */
  const char* key;
  int64_t ttl_ns;     /* of the copy here */
  int64_t timeout_ns; /* 0: none; the daemon gives up when nothing moves for a while */
} sluice_fetch_options;

/* Has this daemon fetch a tensor that another one offers, and writes the index of the copy. The
 * bytes pass between the daemons alone; their settings say with which certificates and tokens.
 * Fails: PERMISSION_DENIED for an address outside of `exchange_sources`, and where the other
 * daemon does not list this one; NOT_FOUND for an index and key that are not offered, or
 * no longer; UNAVAILABLE without an answer of the other daemon; DEADLINE_EXCEEDED;
 * RESOURCE_EXHAUSTED over the session's limits, and while too many fetches run. */
SLUICE_API sluice_code sluice_runtime_fetch_tensor(sluice_runtime* runtime,
                                                   const sluice_fetch_options* options,
                                                   uint64_t* exchange);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_REQUEST_H_ */

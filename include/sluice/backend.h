/* The plug-in boundary of Sluice: one versioned table of C functions.
 *
 * A plug-in is a shared library `libsluice_backend_<name>.so` that exports one symbol,
 * `sluice_backend_entry`. It offers kernels, memory and streams for the devices it drives. Only
 * tensors cross this boundary: no control flow, no sequences, no C++ types, no exceptions.
 *
 * Conventions, unless a function says otherwise:
 *  - Functions return SLUICE_OK or another code below; on failure they write a one-line text, cut
 *    to fit and NUL-terminated, to the caller's `sluice_message`, which may be null.
 *  - Pointers passed in are borrowed for the call. What `create` returns is freed by its `destroy`.
 *    Objects are destroyed before the backend, and the backend before the library is closed.
 *  - Functions on distinct objects may be called from several threads at once. One stream, group or
 *    command list is used by one thread at a time. Kernels are immutable and may be in any number
 *    of command lists.
 *  - Sizes are bytes in int64_t. Tensors are packed; SLUICE_ALIGNMENT bytes is the least alignment
 *    of every tensor address that the host passes.
 *  - Structs that may grow begin with `struct_size`, set by whoever fills them; a reader ignores
 *    fields past it. Minor versions only add to the ends of structs; majors must be equal.
 *
 * C++ authors: `sluice/host_backend.hpp` fills this table from a list of kernel functions.
 */
#ifndef SLUICE_BACKEND_H_
#define SLUICE_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_BACKEND_ABI_MAJOR 1
#define SLUICE_BACKEND_ABI_MINOR 1
#define SLUICE_BACKEND_ENTRY "sluice_backend_entry"
#define SLUICE_ALIGNMENT 64

#if defined(__GNUC__)
#define SLUICE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_PLUGIN_EXPORT
#endif

/* ---- codes and messages ------------------------------------------------------------------- */

/* Numeric values of gRPC status codes; any of those may be returned. */
typedef int32_t sluice_code;
#define SLUICE_OK 0
#define SLUICE_CANCELLED 1
#define SLUICE_INVALID_ARGUMENT 3
#define SLUICE_DEADLINE_EXCEEDED 4
#define SLUICE_NOT_FOUND 5
#define SLUICE_RESOURCE_EXHAUSTED 8
#define SLUICE_FAILED_PRECONDITION 9
#define SLUICE_OUT_OF_RANGE 11
#define SLUICE_UNIMPLEMENTED 12
#define SLUICE_INTERNAL 13
#define SLUICE_UNAVAILABLE 14

typedef struct sluice_message {
  char* text;      /* caller's buffer */
  size_t capacity; /* bytes, terminating NUL included */
} sluice_message;

/* ---- tensors ------------------------------------------------------------------------------ */

/* Element types have the numbers of ONNX's TensorProto.DataType (1 = float, 7 = int64, ...).
 * 4-bit elements are packed two to a byte and 2-bit ones four, the first in the low bits. An
 * element of a tensor of strings is a `sluice_text`: 16 bytes, moved like any other; see
 * sluice_text_pool. */
typedef int32_t sluice_element_type;

/* Order of elements in memory. Dimensions are logical whatever the layout. */
typedef int32_t sluice_layout;
#define SLUICE_LAYOUT_ROW_MAJOR 0
/* [N, ceil(C/16), spatial..., 16]; the channels that pad the last block hold anything: whoever
 * reads must not let them reach a real channel. */
#define SLUICE_LAYOUT_C16 1

typedef struct sluice_tensor {
  void* data;         /* null for an absent optional operand, or for one not known yet */
  int64_t size_bytes; /* -1 where a dimension is not known */
  sluice_element_type element_type; /* 0 for an absent optional operand */
  sluice_layout layout;
  int32_t rank;
  int32_t reserved;
  const int64_t* dims; /* [rank]; -1 where not known when the kernel is made */
} sluice_tensor;

/* ---- operations ---------------------------------------------------------------------------- */

/* UTF-8. All bits zero: the empty text. */
typedef struct sluice_text {
  const char* data; /* not NUL-terminated */
  int64_t size_bytes;
} sluice_text;

/* Where kernels put the bytes of texts that they make. What an input's elements point to, and what
 * the pool gave, stays valid until the run's results are read: a result may point to either. */
typedef struct sluice_text_pool {
  void* owner; /* the host's */
  /* Null if there is no memory. May be called from several threads at once. */
  char* (*allocate)(struct sluice_text_pool* pool, int64_t size_bytes);
} sluice_text_pool;

typedef int32_t sluice_attribute_kind;
#define SLUICE_ATTRIBUTE_INT 1    /* ints[0] */
#define SLUICE_ATTRIBUTE_FLOAT 2  /* floats[0] */
#define SLUICE_ATTRIBUTE_TEXT 3   /* texts[0] */
#define SLUICE_ATTRIBUTE_INTS 4   /* ints[count] */
#define SLUICE_ATTRIBUTE_FLOATS 5 /* floats[count] */
#define SLUICE_ATTRIBUTE_TEXTS 6  /* texts[count] */
#define SLUICE_ATTRIBUTE_TENSOR 7 /* tensor */

typedef struct sluice_attribute {
  const char* name;
  sluice_attribute_kind kind;
  int64_t count;
  const int64_t* ints;
  const float* floats;
  const sluice_text* texts;
  const sluice_tensor* tensor;
} sluice_attribute;

/* An operand as an operation sees it when its kernel is made. */
typedef struct sluice_operand {
  sluice_tensor tensor; /* data: the value, for constants that were not packed; else null */
  int32_t is_constant;  /* the value never changes while the kernel lives */
  const void* packed;   /* the bytes `pack` made of this constant, or null */
  int64_t packed_bytes;
} sluice_operand;

/* One step of an element-wise body. It reads registers and writes the next one. */
typedef struct sluice_body_step {
  const char* kind; /* an element-wise operator of ONNX's default domain, e.g. "Add" */
  int32_t version;
  int32_t num_inputs;
  const int32_t* inputs; /* registers; -1 for an absent optional input */
  int32_t num_attributes;
  const sluice_attribute* attributes;
} sluice_body_step;

/* A straight-line element-wise program applied to an operation's first output before that is
 * stored. Registers: [0, num_inputs) are `sluice_op.body_inputs`, preceded by the operation's own
 * result as register 0 (of output 0's type and shape) unless the operation is
 * "sluice::Elementwise"; then `constants`, then the steps' results in order. All broadcast to
 * output 0's shape as in ONNX. */
typedef struct sluice_body {
  int32_t num_inputs; /* registers before the constants, own result included */
  int32_t num_constants;
  const sluice_tensor* constants;
  int32_t num_steps;
  const sluice_body_step* steps;
  int32_t result; /* register */
} sluice_body;

typedef struct sluice_op {
  uint32_t struct_size;
  int32_t version;    /* since-version of the operator's schema */
  const char* domain; /* "" for ONNX's default domain, "sluice" for ours */
  const char* kind;   /* operator name */
  const char* name;   /* node name in the source model, for messages; may be "" */
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_body_inputs;
  int32_t num_attributes;
  const sluice_operand* inputs;
  const sluice_operand* outputs;
  const sluice_operand* body_inputs;
  const sluice_attribute* attributes;
  const sluice_body* body; /* null for none */
} sluice_op;

/* ---- what a backend answers at compile time ------------------------------------------------- */

typedef struct sluice_op_support {
  uint32_t struct_size;
  int32_t supported;              /* 0: `reason` in the message says why */
  double cost_ns;                 /* rough estimate for static shapes; 0 if unknown */
  sluice_layout preferred_layout; /* of image operands (rank >= 3); asked with row-major operands */
} sluice_op_support;

typedef struct sluice_packing {
  uint32_t struct_size;
  int64_t size_bytes; /* 0: this input is used as it is */
  char format[64];    /* names the packed form; equal text = interchangeable bytes */
} sluice_packing;

/* ---- devices, memory, groups, streams -------------------------------------------------------- */

#define SLUICE_DEVICE_HOST_MEMORY 1u /* kernels read and write ordinary host memory */
/* 1.1: inputs, outputs and constants are best moved into memory_allocate'd memory by copies in
 * command lists. With HOST_MEMORY beside it nothing breaks where they are not. */
#define SLUICE_DEVICE_OWN_MEMORY 2u
/* 1.1: not hardware but a model of it: used when asked for, never chosen. */
#define SLUICE_DEVICE_SIMULATED 4u

typedef struct sluice_device_info {
  uint32_t struct_size;
  uint32_t flags;
  char kind[32]; /* "cpu", "gpu", "sim", ... */
  char name[96]; /* "Intel(R) Xeon(R) ..., avx512" */
  int32_t num_cores;
  int32_t reserved;
  int64_t memory_bytes;
  /* 1.1 */
  char bus_address[32]; /* "0000:3b:00.0"; "" where there is none */
} sluice_device_info;

typedef struct sluice_backend sluice_backend;
typedef struct sluice_group sluice_group;
typedef struct sluice_stream sluice_stream;
typedef struct sluice_kernel sluice_kernel;
typedef struct sluice_command_list sluice_command_list;

typedef struct sluice_kernel_info {
  uint32_t struct_size;
  /* Inputs whose memory output 0 may share, bit i for input i, when they die with this step and
   * have its size. */
  uint32_t in_place_inputs;
} sluice_kernel_info;

/* Where a kernel finds an operand at run time: a fixed address, or `offset` into the buffer that
 * the submission gives for `binding`. */
typedef struct sluice_argument {
  int32_t binding; /* -1: `address` holds the tensor; -2: absent optional operand */
  int32_t texts; /* of an output of strings: the binding, above 0, of a sluice_text_pool; else 0 */
  void* address;
  int64_t offset_bytes;
  /* For outputs of operators whose result shape depends on data: where to write the actual
   * dimensions, [rank]; the tensor's memory holds the largest possible. Else null. */
  int64_t* actual_dims;
} sluice_argument;

typedef struct sluice_option {
  const char* name;
  const char* value;
} sluice_option;

/* ---- the table ------------------------------------------------------------------------------ */

typedef struct sluice_backend_api {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* name;    /* "cpu"; must be that of the file */
  const char* version; /* of the plug-in, for people */
  /* Whatever packed constants depend on beyond the plug-in's version, e.g. "avx512". */
  const char* (*packing_key)(sluice_backend* backend);

  /* Unknown options are refused with SLUICE_INVALID_ARGUMENT. */
  sluice_code (*create)(const sluice_option* options, int32_t num_options, sluice_backend** backend,
                        sluice_message* message);
  void (*destroy)(sluice_backend* backend);

  int32_t (*device_count)(sluice_backend* backend);
  sluice_code (*device_describe)(sluice_backend* backend, int32_t device, sluice_device_info* info,
                                 sluice_message* message);

  /* Whether a kernel for `op` can be made, operand layouts and body as given. Pure. */
  sluice_code (*op_query)(sluice_backend* backend, const sluice_op* op, sluice_op_support* support,
                          sluice_message* message);

  /* Constants may be brought into a form of the backend's own once, ahead of time. The form depends
   * on the constant, the operator and its attributes, never on other operands' dimensions. */
  sluice_code (*packing_query)(sluice_backend* backend, const sluice_op* op, int32_t input,
                               sluice_packing* packing, sluice_message* message);
  /* `packed`: host memory of the size that packing_query told. */
  sluice_code (*pack)(sluice_backend* backend, const sluice_op* op, int32_t input, void* packed,
                      sluice_message* message);

  /* All dimensions are known. `op` and all it points to, constants and packed bytes included, stay
   * valid and unchanged while the kernel lives. */
  sluice_code (*kernel_create)(sluice_backend* backend, int32_t device, const sluice_op* op,
                               sluice_kernel** kernel, sluice_kernel_info* info,
                               sluice_message* message);
  void (*kernel_destroy)(sluice_kernel* kernel);

  /* Device memory. Devices without SLUICE_DEVICE_HOST_MEMORY copy through command lists. */
  sluice_code (*memory_allocate)(sluice_backend* backend, int32_t device, int64_t size_bytes,
                                 void** address, sluice_message* message);
  void (*memory_free)(sluice_backend* backend, int32_t device, void* address);

  /* Cores of one device reserved together; their workers serve every stream of the group. */
  sluice_code (*group_create)(sluice_backend* backend, int32_t device, const int32_t* cores,
                              int32_t num_cores, sluice_group** group, sluice_message* message);
  void (*group_destroy)(sluice_group* group);

  sluice_code (*stream_create)(sluice_group* group, sluice_stream** stream,
                               sluice_message* message);
  /* Waits for what was submitted. */
  void (*stream_destroy)(sluice_stream* stream);
  /* Until all submitted work is done; tells its first error, once. An error ends its list, not
   * those after it. A timeout below 0 waits without end; one that passes is
   * SLUICE_DEADLINE_EXCEEDED and the work goes on. */
  sluice_code (*stream_wait)(sluice_stream* stream, int64_t timeout_ns, sluice_message* message);

  /* A recorded sequence; each entry sees the results of all entries before it. */
  sluice_code (*list_create)(sluice_group* group, sluice_command_list** list,
                             sluice_message* message);
  void (*list_destroy)(sluice_command_list* list);
  /* `inputs` in the order of the operator's inputs, then the body's. Arguments are copied. */
  sluice_code (*list_add_kernel)(sluice_command_list* list, sluice_kernel* kernel,
                                 const sluice_argument* inputs, int32_t num_inputs,
                                 const sluice_argument* outputs, int32_t num_outputs,
                                 sluice_message* message);
  /* Between device and host, either way, within the device, or (1.1) to or from another device of
   * the backend. */
  sluice_code (*list_add_copy)(sluice_command_list* list, const sluice_argument* source,
                               const sluice_argument* target, int64_t size_bytes,
                               sluice_message* message);
  /* No additions after it; done once, before the first submission. */
  sluice_code (*list_finish)(sluice_command_list* list, sluice_message* message);
  /* Runs the list after what was submitted to the stream before. May run it on the calling thread.
   * `bindings` are copied; the buffers stay valid until the work is done. A list is submitted again
   * only when its last run is done. */
  sluice_code (*list_submit)(sluice_stream* stream, sluice_command_list* list,
                             void* const* bindings, int32_t num_bindings, sluice_message* message);

  /* 1.1, may be null. The table of an optional extension, which lives as long as the backend; null
   * for a name it does not know. Names end in the extension's version: "sluice.topology/1". The
   * type behind a name is that extension's header's. */
  const void* (*find_extension)(sluice_backend* backend, const char* name);
} sluice_backend_api;

/* Type of the exported symbol SLUICE_BACKEND_ENTRY. Returns a table that lives as long as the
 * library, or null with a message when this host's major version is not served. */
typedef const sluice_backend_api* (*sluice_backend_entry_fn)(uint16_t host_abi_major,
                                                             uint16_t host_abi_minor,
                                                             sluice_message* message);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_BACKEND_H_ */

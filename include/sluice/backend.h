/* The plug-in boundary of Sluice: one versioned table of C functions.
 *
 * A plug-in is a shared library `libsluice_backend_<name>.so` that exports one symbol,
 * `sluice_backend_entry`. It offers kernels, memory and streams for the devices it drives. Only
 * tensors cross this boundary: no control flow, no sequences, no C++ types, no exceptions.
 *
 * Conventions, unless a function says otherwise:
 *  - Errors: functions return SLUICE_OK or another code of sluice/status.h. On failure they write a
 *    one-line text, cut to fit and NUL-terminated, to the caller's `sluice_message`, which may be
 * null.
 *  - Ownership: a callee borrows pointers for the call. `destroy` frees the object that the
 *    matching `create` returned. The host destroys all objects before the backend, and the backend
 *    before it closes the library.
 *  - Threads: the host may call functions on distinct objects from several threads at once. It uses
 *    a stream, group or command list from one thread at a time. Kernels are immutable and may be in
 *    any number of command lists.
 *  - Units: sizes are bytes in int64_t, times are nanoseconds. Tensors are packed; the host aligns
 *    every tensor address to at least SLUICE_ALIGNMENT bytes.
 *  - Versions: structs that may grow begin with `struct_size`, which the writer of the struct sets;
 *    a reader ignores fields past it. Minor versions only add fields at the ends of structs; major
 *    versions must be equal.
 *
 * C++ authors: `sluice/host_backend.hpp` fills this table from a list of kernel functions.
 */
#ifndef SLUICE_BACKEND_H_
#define SLUICE_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#include "sluice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_BACKEND_ABI_MAJOR 1
#define SLUICE_BACKEND_ABI_MINOR 3
#define SLUICE_BACKEND_ENTRY "sluice_backend_entry"
#define SLUICE_ALIGNMENT 64

#if defined(__GNUC__)
#define SLUICE_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_PLUGIN_EXPORT
#endif

/* ---- messages ------------------------------------------------------------------------------ */

/* A buffer for the text of a failure. */
typedef struct sluice_message {
  char* text;      /* the caller's buffer; unchanged on success */
  size_t capacity; /* bytes, terminating NUL included */
} sluice_message;

/* ---- tensors ------------------------------------------------------------------------------ */

/* Element types have the numbers of ONNX's TensorProto.DataType (1 = float, 7 = int64, ...).
 * A byte holds two 4-bit elements or four 2-bit elements, the first in the low bits. An element of
 * a string tensor is a `sluice_text` of 16 bytes, which kernels move like any other element; see
 * sluice_text_pool for the memory of the characters. */
typedef int32_t sluice_element_type;

/* Order of elements in memory. Dimensions stay the logical ones in every layout. */
typedef int32_t sluice_layout;
#define SLUICE_LAYOUT_ROW_MAJOR 0
/* [N, ceil(C/16), spatial..., 16]. The padding channels of the last block hold arbitrary values: a
 * kernel must not let them influence a real channel. */
#define SLUICE_LAYOUT_C16 1

/* A packed tensor. The struct borrows `data` and `dims`. */
typedef struct sluice_tensor {
  void* data;         /* null for an absent optional operand, or where the address is not known */
  int64_t size_bytes; /* -1 where a dimension is not known */
  sluice_element_type element_type; /* 0 for an absent optional operand */
  sluice_layout layout;
  int32_t rank;
  int32_t reserved;
  const int64_t* dims; /* [rank]; -1 for a dimension that is not known yet */
} sluice_tensor;

/* ---- operations ---------------------------------------------------------------------------- */

/* A UTF-8 text. A struct of zero bytes is the empty text. */
typedef struct sluice_text {
  const char* data; /* not NUL-terminated */
  int64_t size_bytes;
} sluice_text;

/* Memory for the characters of texts that kernels create. Characters of input elements and memory
 * of the pool stay valid until the host has read the run's results: an output element may point to
 * either. The host owns the pool and its memory. */
typedef struct sluice_text_pool {
  void* owner; /* for the host's use */
  /* Returns null if memory is exhausted. Safe from several threads at once. */
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

/* A named attribute of an operation. `kind` selects the array that holds its `count` values. */
typedef struct sluice_attribute {
  const char* name;
  sluice_attribute_kind kind;
  int64_t count;
  const int64_t* ints;
  const float* floats;
  const sluice_text* texts;
  const sluice_tensor* tensor;
} sluice_attribute;

/* An operand of an operation when the host queries support or creates a kernel. */
typedef struct sluice_operand {
  sluice_tensor tensor; /* `data` is the value of a constant that was not packed; else null */
  int32_t is_constant;  /* not 0: the value never changes while the kernel lives */
  const void* packed;   /* the bytes that `pack` wrote for this constant, or null */
  int64_t packed_bytes;
} sluice_operand;

/* One step of an element-wise body. It reads registers and writes the next free one. */
typedef struct sluice_body_step {
  const char* kind; /* an element-wise operator of ONNX's default domain, e.g. "Add" */
  int32_t version;
  int32_t num_inputs;
  const int32_t* inputs; /* registers; -1 for an absent optional input */
  int32_t num_attributes;
  const sluice_attribute* attributes;
} sluice_body_step;

/* Element-wise steps without branches that a kernel applies to the operation's first output before
 * it stores the output. Registers: [0, num_inputs) are `sluice_op.body_inputs`, preceded by the
 * operation's own result as register 0 (of output 0's type and shape) unless the operation is
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

/* An operation: an operator with its operands, attributes and fused body. */
typedef struct sluice_op {
  uint32_t struct_size;
  int32_t version;    /* since-version of the operator's schema */
  const char* domain; /* "" for ONNX's default domain, "sluice" for Sluice's */
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

/* ---- answers of a backend at compile time ---------------------------------------------------- */

typedef struct sluice_op_support {
  uint32_t struct_size;
  int32_t supported;              /* 0: not supported; the message says why */
  double cost_ns;                 /* rough estimate for static shapes; 0 if unknown */
  sluice_layout preferred_layout; /* for image operands (rank >= 3); valid for row-major queries */
  /* 1.2: 1 if a generic kernel runs the operation: right, but much slower than a kernel of its own.
   */
  int32_t is_generic;
  /* 1.3: 1 if 16-bit floats among the operands cost no more than 32-bit ones would. The compiler
   * then leaves an operation of 16 bits as it is, instead of computing it in 32. */
  int32_t native_halves;
} sluice_op_support;

typedef struct sluice_packing {
  uint32_t struct_size;
  int64_t size_bytes; /* size of the packed form; 0: the kernel reads this input unpacked */
  char format[64];    /* name of the packed form; equal names mean interchangeable bytes */
} sluice_packing;

/* ---- devices, memory, groups, streams -------------------------------------------------------- */

#define SLUICE_DEVICE_HOST_MEMORY 1u /* kernels read and write ordinary host memory */
/* 1.1: kernels run faster if command lists copy inputs, outputs and constants to memory of
 * memory_allocate. Together with HOST_MEMORY the copies are optional. */
#define SLUICE_DEVICE_OWN_MEMORY 2u
/* 1.1: a simulation of hardware. The host uses such a device only on explicit request. */
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
  char bus_address[32]; /* "0000:3b:00.0"; "" for a device without one */
} sluice_device_info;

typedef struct sluice_backend sluice_backend;
typedef struct sluice_group sluice_group;
typedef struct sluice_stream sluice_stream;
typedef struct sluice_kernel sluice_kernel;
typedef struct sluice_command_list sluice_command_list;

typedef struct sluice_kernel_info {
  uint32_t struct_size;
  /* Bit i is set if output 0 may share the memory of input i. The host shares it only if the input
   * has the output's size and no later step reads the input. */
  uint32_t in_place_inputs;
} sluice_kernel_info;

/* The address of an operand at run time: a fixed address, or `offset_bytes` into the buffer that
 * the submission passes for `binding`. */
typedef struct sluice_argument {
  int32_t binding; /* -1: `address` holds the tensor; -2: absent optional operand */
  int32_t texts;   /* string outputs: the binding (> 0) of their sluice_text_pool; else 0 */
  void* address;
  int64_t offset_bytes;
  /* Outputs whose shape depends on data: the kernel writes the actual dimensions here, [rank]. The
   * tensor's memory has room for the largest possible result. Null for all other operands. */
  int64_t* actual_dims;
} sluice_argument;

/* A setting of a plug-in, by name. */
typedef struct sluice_option {
  const char* name;
  const char* value;
} sluice_option;

/* ---- the table ------------------------------------------------------------------------------ */

typedef struct sluice_backend_api {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* name;    /* "cpu"; must equal the name in the file name */
  const char* version; /* version of the plug-in, for display and for packed constants */
  /* Names the properties of the machine that packed constants depend on, e.g. "avx512". The host
   * reuses packed constants if version and key are equal. */
  const char* (*packing_key)(sluice_backend* backend);

  /* Creates a backend. Fails: SLUICE_INVALID_ARGUMENT for an unknown option or a bad value;
   * SLUICE_UNAVAILABLE where the machine lacks the device. */
  sluice_code (*create)(const sluice_option* options, int32_t num_options, sluice_backend** backend,
                        sluice_message* message);
  void (*destroy)(sluice_backend* backend);

  /* Devices have the indices 0 to device_count - 1, which never change. */
  int32_t (*device_count)(sluice_backend* backend);
  sluice_code (*device_describe)(sluice_backend* backend, int32_t device, sluice_device_info* info,
                                 sluice_message* message);

  /* Reports if the backend has a kernel for `op` with these operand layouts and this body.
   * Dimensions may be unknown (-1). Equal operations get equal answers. */
  sluice_code (*op_query)(sluice_backend* backend, const sluice_op* op, sluice_op_support* support,
                          sluice_message* message);

  /* Describes the packed form of the constant `input`, which the host packs once, ahead of time.
   * The form depends on the constant, the operator and its attributes, never on the dimensions of
   * other operands. */
  sluice_code (*packing_query)(sluice_backend* backend, const sluice_op* op, int32_t input,
                               sluice_packing* packing, sluice_message* message);
  /* Writes the packed form to `packed`, host memory of the size that packing_query returned. */
  sluice_code (*pack)(sluice_backend* backend, const sluice_op* op, int32_t input, void* packed,
                      sluice_message* message);

  /* Creates a kernel. All dimensions are known. The host keeps `op` and all memory that it refers
   * to, constants and packed bytes included, valid and unchanged while the kernel lives. */
  sluice_code (*kernel_create)(sluice_backend* backend, int32_t device, const sluice_op* op,
                               sluice_kernel** kernel, sluice_kernel_info* info,
                               sluice_message* message);
  void (*kernel_destroy)(sluice_kernel* kernel);

  /* Allocates device memory, aligned to SLUICE_ALIGNMENT. The host fills memory of devices without
   * SLUICE_DEVICE_HOST_MEMORY through copies in command lists. Fails: SLUICE_RESOURCE_EXHAUSTED. */
  sluice_code (*memory_allocate)(sluice_backend* backend, int32_t device, int64_t size_bytes,
                                 void** address, sluice_message* message);
  void (*memory_free)(sluice_backend* backend, int32_t device, void* address);

  /* Reserves cores of one device as a group; its threads serve every stream of the group. */
  sluice_code (*group_create)(sluice_backend* backend, int32_t device, const int32_t* cores,
                              int32_t num_cores, sluice_group** group, sluice_message* message);
  void (*group_destroy)(sluice_group* group);

  sluice_code (*stream_create)(sluice_group* group, sluice_stream** stream,
                               sluice_message* message);
  /* Waits for submitted work. */
  void (*stream_destroy)(sluice_stream* stream);
  /* Waits until all submitted work is done and returns its first error, once. An error ends its
   * list but not later lists. SLUICE_INVALID_ARGUMENT and SLUICE_OUT_OF_RANGE say that the values
   * or shapes of this run do not fit, SLUICE_UNAVAILABLE that the device is lost, and
   * SLUICE_RESOURCE_EXHAUSTED that memory is; any other code is the kernel's own. A timeout below 0
   * waits without limit. When the timeout passes, the function returns SLUICE_DEADLINE_EXCEEDED and
   * the work continues. */
  sluice_code (*stream_wait)(sluice_stream* stream, int64_t timeout_ns, sluice_message* message);

  /* Creates an empty command list: a recorded sequence in which each entry sees the results of all
   * earlier entries. */
  sluice_code (*list_create)(sluice_group* group, sluice_command_list** list,
                             sluice_message* message);
  void (*list_destroy)(sluice_command_list* list);
  /* Adds a kernel. `inputs` are the operator's inputs in order, then the body's. The list copies
   * the arguments. */
  sluice_code (*list_add_kernel)(sluice_command_list* list, sluice_kernel* kernel,
                                 const sluice_argument* inputs, int32_t num_inputs,
                                 const sluice_argument* outputs, int32_t num_outputs,
                                 sluice_message* message);
  /* Adds a copy: between device and host in either direction, within the device, or (1.1) to or
   * from another device of the backend. */
  sluice_code (*list_add_copy)(sluice_command_list* list, const sluice_argument* source,
                               const sluice_argument* target, int64_t size_bytes,
                               sluice_message* message);
  /* Ends the recording. The host calls it once, before the first submission. */
  sluice_code (*list_finish)(sluice_command_list* list, sluice_message* message);
  /* Runs the list after all work submitted to the stream earlier, possibly on the calling thread.
   * The backend copies `bindings`; the host keeps the buffers valid until the work is done. It
   * submits a list again only after the list's last run is done. */
  sluice_code (*list_submit)(sluice_stream* stream, sluice_command_list* list,
                             void* const* bindings, int32_t num_bindings, sluice_message* message);

  /* 1.1, may be null. Returns the table of an optional extension, or null for an unknown name. The
   * table lives as long as the backend. Names end in the extension's version: "sluice.topology/1".
   * The extension's header declares the type of its table. */
  const void* (*find_extension)(sluice_backend* backend, const char* name);
} sluice_backend_api;

/* Type of the exported symbol SLUICE_BACKEND_ENTRY. Returns a table that lives as long as the
 * library, or null with a message if the plug-in does not support the host's major version. */
typedef const sluice_backend_api* (*sluice_backend_entry_fn)(uint16_t host_abi_major,
                                                             uint16_t host_abi_minor,
                                                             sluice_message* message);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_BACKEND_H_ */

/* Operators of a program, in C: a shape function and a kernel, without a plug-in.
 *
 * A program registers its operators, then compiles and opens models that use them. The compiler
 * writes their place into the package; a process that opens the package registers the same
 * operators first. They run on the host, in the process that registered them: a daemon or a worker
 * process refuses such a package, unless it carries a module of operators that the daemon allows.
 *
 * Errors:    as in sluice/sluice.h. What a shape function or a kernel writes to its message reaches
 *            the caller of the compiler or of the run, with the name of the node.
 * Threads:   every function may be called from any thread. Shape functions and kernels are called
 *            by several threads at once. They may call Sluice, but not for the context or the
 *            request that calls them.
 * Ownership: callees borrow what they are passed for the call. Registered functions, and
 * `user_data`, stay valid until the process ends.
 *
 * C++ programs may prefer the wrapper in `sluice/operators.hpp`.
 */
#ifndef SLUICE_OPERATORS_H_
#define SLUICE_OPERATORS_H_

#include "sluice/backend.h"
#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_OPERATOR_MAX_RANK 64
/* A dimension of which nothing is known. */
#define SLUICE_DIM_UNKNOWN (-1)

/* A tensor type. The dimension of an input is below 0 where it is not known yet: equal numbers are
 * equal dimensions, and an output may repeat them, but not compute with them. */
typedef struct sluice_type {
  sluice_element_type element_type; /* as in sluice_tensor; 0: absent, or not known yet */
  int32_t rank;                     /* -1: not known yet */
  int64_t* dims;                    /* [rank]; of outputs [SLUICE_OPERATOR_MAX_RANK] */
} sluice_type;

/* What a shape function reads and writes. */
typedef struct sluice_operator_types {
  uint32_t struct_size;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attributes;
  const sluice_type* inputs;
  sluice_type* outputs; /* written by the function; its `dims` point to memory of the host */
  const sluice_attribute* attributes;
} sluice_operator_types;

/* What a kernel reads and writes. Tensors are row-major, their dimensions known, their addresses
 * aligned to SLUICE_ALIGNMENT. */
typedef struct sluice_operator_call {
  uint32_t struct_size;
  int32_t reserved;
  const sluice_op* op;          /* version, attributes, and the numbers of operands */
  const sluice_tensor* inputs;  /* [op->num_inputs]; element type 0 for an absent one */
  const sluice_tensor* outputs; /* [op->num_outputs]; as above */
  /* [op->num_outputs]: where an output with SLUICE_OPERATOR_DATA_DEPENDENT takes its dimensions,
   * [rank]; null for other operators. */
  int64_t* const* actual_dims;
  sluice_text_pool* texts; /* memory for the characters of string outputs; null without one */
} sluice_operator_call;

/* A run has effects besides its outputs: it is neither dropped nor merged with an equal one. */
#define SLUICE_OPERATOR_HAS_EFFECTS 1u
/* The shape function gives the largest possible outputs; the kernel writes the actual dimensions.
 */
#define SLUICE_OPERATOR_DATA_DEPENDENT 2u

/* An operator. */
typedef struct sluice_operator {
  uint32_t struct_size; /* sizeof(sluice_operator) */
  uint32_t flags;
  const char* domain; /* not ONNX's default domain, not "sluice" */
  const char* name;
  int32_t version; /* the version of the domain that it came with; 0: 1 */
  int32_t min_inputs;
  int32_t max_inputs; /* -1: any number */
  int32_t min_outputs;
  int32_t max_outputs; /* at least 1; outputs past min_outputs may be absent */
  int32_t reserved;
  /* Sets the types of the outputs from those of the inputs: when a model is compiled, and for every
   * new shape of a run. Null: each output has the type of input 0. */
  sluice_code (*infer)(void* user_data, const sluice_operator_types* types,
                       sluice_message* message);
  /* Computes the outputs. */
  sluice_code (*run)(void* user_data, const sluice_operator_call* call, sluice_message* message);
  void* user_data; /* first argument of both */
} sluice_operator;

/* Registers an operator in this process, for the rest of its life. The library copies the struct
 * and its texts. Fails: INVALID_ARGUMENT for a field that is not allowed, which the message
 * names; ALREADY_EXISTS for an operator that the domain has already. */
SLUICE_API sluice_code sluice_operator_register(const sluice_operator* op);

/* The registered operators in the order of registration, without those of modules, such as for
 * sluice_compile_request. They live until the process ends. Null if the index is out of range. */
SLUICE_API size_t sluice_num_operators(void);
SLUICE_API const sluice_operator* sluice_operator_at(size_t index);

/* A module of operators is a shared library that a package carries: `sluice compile --operators`.
 * It exports one function of this name, which returns what lives as long as the process. It is
 * called once, and calls no function of Sluice. */
#define SLUICE_OPERATOR_MODULE_ENTRY "sluice_operator_module_1"
typedef struct sluice_operator_module {
  uint32_t struct_size; /* sizeof(sluice_operator_module) */
  uint32_t reserved;
  const sluice_operator* const* operators; /* [num_operators] */
  size_t num_operators;
} sluice_operator_module;
typedef const sluice_operator_module* (*sluice_operator_module_entry)(void);

/* Lets this process run the code of the module with this SHA-256 when it opens or loads a package
 * that carries it, for the rest of the process's life. A module that was not allowed is never
 * opened: PERMISSION_DENIED. `sha256`: 64 hexadecimal digits, as `sha256sum` prints them.
 * Fails: INVALID_ARGUMENT for another text; RESOURCE_EXHAUSTED beyond 256 modules. */
SLUICE_API sluice_code sluice_operator_allow(const char* sha256);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_OPERATORS_H_ */

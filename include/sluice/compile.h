/* The compiler as a library, in C: an ONNX model in, a `.sluice` package out.
 *
 * Link or dlopen libsluice_compiler; libsluice, which runs packages, does not need it.
 *
 * Errors:    a function that can fail returns SLUICE_OK or another code of sluice/status.h, whose
 *            prefix the comments leave out.
 *            `sluice_compile_last_error()` returns the text of the calling thread's last failure.
 * Threads:   every function may be called from any thread; one thread at a time uses a package.
 * Protobuf:  the library links the system's libprotobuf and exports none of it. A program that
 *            brings another protobuf opens the library with dlopen(RTLD_NOW | RTLD_LOCAL).
 *
 * C++ programs may prefer the wrapper in `sluice/compile.hpp`.
 */
#ifndef SLUICE_COMPILE_H_
#define SLUICE_COMPILE_H_

#include "sluice/operators.h"
#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_package sluice_package;
typedef struct sluice_trace sluice_trace; /* sluice/trace/trace.h */

/* The model and how to compile it. All fields but struct_size may be zero. Exactly one of `path`,
 * `data`, `has_fd` and `trace` names the model; the call borrows all of them. */
typedef struct sluice_compile_request {
  uint32_t struct_size; /* sizeof(sluice_compile_request) */
  int32_t has_fd;       /* 1: read the regular file `fd` from its start; it stays open */
  int32_t fd;
  int32_t reserved;
  const char* path;   /* an ONNX file; external data lies beside it */
  const void* data;   /* an ONNX model in memory */
  size_t size_bytes;  /* of `data` */
  const char* folder; /* external data of `data` or `fd`; null: a model with such data is refused */
  const char* const* options; /* [num_options] as for `sluice compile`: "--weights", "bf16" */
  size_t num_options;
  const char* backend_dir; /* folder of plug-ins; null: $SLUICE_BACKEND_PATH, then the default */
  /* Called when a phase ("import", "optimize", ...) starts, on the calling thread; may be null. The
   * text lives for the call. It must not throw. */
  void (*progress)(void* user_data, const char* phase);
  void* user_data; /* first argument of `progress` */
  /* Operators of the program that the model may use, [num_operators]: those of
   * sluice_operator_at. They stay valid until the process ends. */
  const sluice_operator* const* operators;
  size_t num_operators;
  const sluice_trace* trace; /* operations that the program recorded */
  /* The file to write while compiling, as sluice_package_save writes it: memory holds few of the
   * model's weights at a time. Null: the package lies in memory. */
  const char* output;
} sluice_compile_request;

/* Compiles. On success `*package` is a handle for sluice_package_free; on failure it is null.
 * Fails: INVALID_ARGUMENT for a damaged model or wrong options; NOT_FOUND for a missing
 * file or backend; as sluice_package_save for `output`, which leaves no partial file;
 * UNIMPLEMENTED naming all operators that cannot be compiled. */
SLUICE_API sluice_code sluice_compile(const sluice_compile_request* request,
                                      sluice_package** package);

/* A key for the package that `sluice_compile` would make: 33 characters and a zero, for the name of
 * a file in a cache. Keys differ where the model, a file of its external data (by place, size and
 * time), the options, the compiler, a plug-in, the processor or a variable SLUICE_... does.
 * `capacity`: bytes at `key`. Operators of the program, `output` and `progress` do not count.
 * Fails: NOT_FOUND for a missing file; INVALID_ARGUMENT for a trace, for wrong options or those
 * that write more than a package ("--emit", "--graphs"), and for a capacity under
 * SLUICE_COMPILE_KEY_BYTES. */
#define SLUICE_COMPILE_KEY_BYTES 34
SLUICE_API sluice_code sluice_compile_key(const sluice_compile_request* request, char* key,
                                          size_t capacity);

/* Text of the calling thread's last failure in this library, "" without one. Valid until the
 * thread's next failure. */
SLUICE_API const char* sluice_compile_last_error(void);

/* Number of operations of the compiled main graph; 0 for null. */
SLUICE_API size_t sluice_package_num_operations(const sluice_package* package);

/* Writes the package to a file, under another name first, so that readers see all of it or none.
 * A file of that name is replaced. Fails: NOT_FOUND, PERMISSION_DENIED. */
SLUICE_API sluice_code sluice_package_save(const sluice_package* package, const char* path);

/* The package as the bytes of a `.sluice` file, aligned to a page. They are built by the first call
 * and live as long as the package. Fails: RESOURCE_EXHAUSTED without memory for them. */
SLUICE_API sluice_code sluice_package_bytes(sluice_package* package, const void** data,
                                            size_t* size_bytes);

/* Frees the package and its bytes; null is allowed. */
SLUICE_API void sluice_package_free(sluice_package* package);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_COMPILE_H_ */

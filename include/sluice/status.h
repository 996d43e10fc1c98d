/* Status codes: of the library in C and C++, of plug-ins and of daemons alike.
 *
 * The numbers are those of gRPC and never change. This header needs no library, and <stdint.h>
 * alone. Other headers of Sluice leave out the prefix in "Fails: NOT_FOUND for a missing file".
 *
 * A status code says what kind of failure it was. A runtime code is finer: it says what went wrong
 * in a runtime, and each goes with one status code.
 */
#ifndef SLUICE_STATUS_H_
#define SLUICE_STATUS_H_

#include <stdint.h>

/* A status code. Functions return it; any number but SLUICE_OK is a failure. */
typedef int32_t sluice_code;

#define SLUICE_OK 0
#define SLUICE_CANCELLED 1         /* the caller or the runtime gave the work up */
#define SLUICE_UNKNOWN 2           /* a failure without a code of its own */
#define SLUICE_INVALID_ARGUMENT 3  /* an argument or a file is wrong */
#define SLUICE_DEADLINE_EXCEEDED 4 /* the time given for the work passed */
#define SLUICE_NOT_FOUND 5         /* no file, backend, handle or tensor has this name or number */
#define SLUICE_ALREADY_EXISTS 6
#define SLUICE_PERMISSION_DENIED 7
#define SLUICE_RESOURCE_EXHAUSTED 8  /* too little memory, too few cores, a full queue */
#define SLUICE_FAILED_PRECONDITION 9 /* the object is in a state that does not allow the call */
#define SLUICE_ABORTED 10
#define SLUICE_OUT_OF_RANGE 11    /* an index or a number lies outside of what data allows */
#define SLUICE_UNIMPLEMENTED 12   /* an operator or a feature that this build does not have */
#define SLUICE_INTERNAL 13        /* a mistake in Sluice or in a plug-in */
#define SLUICE_UNAVAILABLE 14     /* a device or a daemon is lost, or not there */
#define SLUICE_DATA_LOSS 15       /* a damaged file, or an output with NaN */
#define SLUICE_UNAUTHENTICATED 16 /* no token, or a wrong one */

/* A runtime code; the comment names the status code that goes with it. */
typedef int32_t sluice_runtime_code;

#define SLUICE_RUNTIME_CODE_OK 0
#define SLUICE_RUNTIME_CODE_FAILED 1           /* FAILED_PRECONDITION: does not fit the state */
#define SLUICE_RUNTIME_CODE_INVALID 2          /* INVALID_ARGUMENT: a package or an argument */
#define SLUICE_RUNTIME_CODE_INVALID_HANDLE 3   /* NOT_FOUND: no model, group or request has it */
#define SLUICE_RUNTIME_CODE_OUT_OF_RESOURCES 4 /* RESOURCE_EXHAUSTED: memory, or another one */
#define SLUICE_RUNTIME_CODE_TIMEOUT 5          /* DEADLINE_EXCEEDED */
#define SLUICE_RUNTIME_CODE_DEVICE_ERROR 6     /* UNAVAILABLE: a device or a daemon was lost */
#define SLUICE_RUNTIME_CODE_QUEUE_FULL 7   /* RESOURCE_EXHAUSTED: the message says when to retry */
#define SLUICE_RUNTIME_CODE_MODEL_FAILED 8 /* FAILED_PRECONDITION: out of service by an error */
#define SLUICE_RUNTIME_CODE_NOT_ENOUGH_CORES 9     /* RESOURCE_EXHAUSTED: too few free cores */
#define SLUICE_RUNTIME_CODE_UNSUPPORTED_VERSION 10 /* UNIMPLEMENTED: the package's format */
#define SLUICE_RUNTIME_CODE_PENDING 1000           /* UNAVAILABLE: the request is not done yet */
#define SLUICE_RUNTIME_CODE_CANCELLED 1001         /* CANCELLED */
#define SLUICE_RUNTIME_CODE_BAD_INPUT 1002         /* INVALID_ARGUMENT: missing, or wrong values */
#define SLUICE_RUNTIME_CODE_NUMERIC_ERROR 1003     /* DATA_LOSS: an output holds NaN */
#define SLUICE_RUNTIME_CODE_COMPLETED_WITH_ERROR 1004 /* INTERNAL: a kernel reported an error */

#ifdef __cplusplus
namespace sluice {

/* A status code in C++. */
enum class Code : sluice_code {
  kOk = SLUICE_OK,
  kCancelled = SLUICE_CANCELLED,
  kUnknown = SLUICE_UNKNOWN,
  kInvalidArgument = SLUICE_INVALID_ARGUMENT,
  kDeadlineExceeded = SLUICE_DEADLINE_EXCEEDED,
  kNotFound = SLUICE_NOT_FOUND,
  kAlreadyExists = SLUICE_ALREADY_EXISTS,
  kPermissionDenied = SLUICE_PERMISSION_DENIED,
  kResourceExhausted = SLUICE_RESOURCE_EXHAUSTED,
  kFailedPrecondition = SLUICE_FAILED_PRECONDITION,
  kAborted = SLUICE_ABORTED,
  kOutOfRange = SLUICE_OUT_OF_RANGE,
  kUnimplemented = SLUICE_UNIMPLEMENTED,
  kInternal = SLUICE_INTERNAL,
  kUnavailable = SLUICE_UNAVAILABLE,
  kDataLoss = SLUICE_DATA_LOSS,
  kUnauthenticated = SLUICE_UNAUTHENTICATED,
};

/* A runtime code in C++. */
enum class RuntimeCode : sluice_runtime_code {
  kOk = SLUICE_RUNTIME_CODE_OK,
  kFailed = SLUICE_RUNTIME_CODE_FAILED,
  kInvalid = SLUICE_RUNTIME_CODE_INVALID,
  kInvalidHandle = SLUICE_RUNTIME_CODE_INVALID_HANDLE,
  kOutOfResources = SLUICE_RUNTIME_CODE_OUT_OF_RESOURCES,
  kTimeout = SLUICE_RUNTIME_CODE_TIMEOUT,
  kDeviceError = SLUICE_RUNTIME_CODE_DEVICE_ERROR,
  kQueueFull = SLUICE_RUNTIME_CODE_QUEUE_FULL,
  kModelFailed = SLUICE_RUNTIME_CODE_MODEL_FAILED,
  kNotEnoughCores = SLUICE_RUNTIME_CODE_NOT_ENOUGH_CORES,
  kUnsupportedVersion = SLUICE_RUNTIME_CODE_UNSUPPORTED_VERSION,
  kPending = SLUICE_RUNTIME_CODE_PENDING,
  kCancelled = SLUICE_RUNTIME_CODE_CANCELLED,
  kBadInput = SLUICE_RUNTIME_CODE_BAD_INPUT,
  kNumericError = SLUICE_RUNTIME_CODE_NUMERIC_ERROR,
  kCompletedWithError = SLUICE_RUNTIME_CODE_COMPLETED_WITH_ERROR,
};

} /* namespace sluice */
#endif
#endif /* SLUICE_STATUS_H_ */

// Tells the thread sanitizer how gRPC, which is built without it, passes objects between threads.
// Linked into every program with gRPC under `--preset tsan`, and into none otherwise. These
// definitions replace those of the libraries, call them, and declare their happens-before order to
// the sanitizer:
//
//     absl::Mutex, absl::CondVar     all of gRPC's locks, one sync variable each: its own address
//     grpc_call_start_batch          whatever the caller did comes before the batch's completion is
//       -> grpc_completion_queue_*   taken from a queue; one sync variable per batch: its tag
//     grpc_call_unref                the end of every call comes before the end of a server, which
//       -> grpc_server_destroy       waits for its calls; one sync variable for all servers
//
// The thread sanitizer does not see memory that these libraries allocate, free and copy themselves;
// the address sanitizer does.
//
// These definitions add no order between two handlers, or between two threads of a handler, that
// gRPC does not establish.
#include <absl/base/options.h>
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>

// The functions here are called from other libraries.
#pragma GCC visibility push(default)
#include <absl/synchronization/mutex.h>
#pragma GCC visibility pop

#define SLUICE_TEXT_OF(name) #name
#define SLUICE_TEXT(name) SLUICE_TEXT_OF(name)

/// Read by the sanitizer at the start.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgrpc++.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libabsl_cord.so\n"
         "called_from_lib:libabsl_cord_internal.so\n"
         "called_from_lib:libabsl_graphcycles_internal.so\n"
         "called_from_lib:libabsl_random_internal_pool_urbg.so\n"
         "called_from_lib:libabsl_status.so\n"
         "called_from_lib:libabsl_str_format_internal.so\n"
         "called_from_lib:libabsl_strings.so\n"
         "called_from_lib:libabsl_synchronization.so\n"
         "called_from_lib:libabsl_time.so\n"
         "called_from_lib:libabsl_time_zone.so\n"
         "called_from_lib:libupb.so\n";
}

namespace {

/// The library's own function.
void* real(const char* symbol) {
  void* found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr) return found;
  std::fprintf(stderr, "grpc_tsan: no library has %s\n", symbol);
  std::abort();
}

char ended_calls = 0;  ///< its address is the sync variable

/// absl::<namespace of its version>::<rest>, mangled.
void* real_absl(const char* rest) {
  constexpr const char kVersion[] = SLUICE_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  char symbol[256];
  std::snprintf(symbol, sizeof(symbol), "_ZN4absl%zu%s%s", sizeof(kVersion) - 1, kVersion, rest);
  return real(symbol);
}

}  // namespace

namespace absl {

void Mutex::Lock() {
  static const auto kReal = reinterpret_cast<void (*)(Mutex*)>(real_absl("5Mutex4LockEv"));
  kReal(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static const auto kReal = reinterpret_cast<void (*)(Mutex*)>(real_absl("5Mutex6UnlockEv"));
  __tsan_release(this);
  kReal(this);
}

bool Mutex::TryLock() {
  static const auto kReal = reinterpret_cast<bool (*)(Mutex*)>(real_absl("5Mutex7TryLockEv"));
  const bool is_locked = kReal(this);
  if (is_locked) __tsan_acquire(this);
  return is_locked;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto kReal =
      reinterpret_cast<void (*)(CondVar*, Mutex*)>(real_absl("7CondVar4WaitEPNS0_5MutexE"));
  __tsan_release(mutex);
  kReal(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static const auto kReal = reinterpret_cast<bool (*)(CondVar*, Mutex*, Duration)>(
      real_absl("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE"));
  __tsan_release(mutex);
  const bool is_late = kReal(this, mutex, timeout);
  __tsan_acquire(mutex);
  return is_late;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static const auto kReal = reinterpret_cast<bool (*)(CondVar*, Mutex*, Time)>(
      real_absl("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"));
  __tsan_release(mutex);
  const bool is_late = kReal(this, mutex, deadline);
  __tsan_acquire(mutex);
  return is_late;
}

}  // namespace absl

#pragma GCC visibility push(default)
extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t num_ops,
                                      void* tag, void* reserved) {
  static const auto kReal =
      reinterpret_cast<decltype(&grpc_call_start_batch)>(real("grpc_call_start_batch"));
  __tsan_release(tag);
  return kReal(call, ops, num_ops, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static const auto kReal =
      reinterpret_cast<decltype(&grpc_completion_queue_next)>(real("grpc_completion_queue_next"));
  const grpc_event event = kReal(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static const auto kReal =
      reinterpret_cast<decltype(&grpc_completion_queue_pluck)>(real("grpc_completion_queue_pluck"));
  const grpc_event event = kReal(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(tag);
  return event;
}

void grpc_call_unref(grpc_call* call) {
  static const auto kReal = reinterpret_cast<decltype(&grpc_call_unref)>(real("grpc_call_unref"));
  __tsan_release(&ended_calls);
  kReal(call);
}

void grpc_server_destroy(grpc_server* server) {
  static const auto kReal =
      reinterpret_cast<decltype(&grpc_server_destroy)>(real("grpc_server_destroy"));
  __tsan_acquire(&ended_calls);
  kReal(server);
}

}  // extern "C"
#pragma GCC visibility pop

#include "guest/runtime/errors.h"

#include <utility>

#include "guest/runtime/connection.h"

namespace sluice::guest {
namespace {

thread_local Error last = Error::kSuccess;

const char* name_of(int error) {
  switch (static_cast<Error>(error)) {
#define SLUICE_GUEST_ROW(enumerator, name, number, meaning) \
  case Error::enumerator: return #name;
    SLUICE_GUEST_ERRORS(SLUICE_GUEST_ROW)
#undef SLUICE_GUEST_ROW
  }
  return "unrecognized error code";
}

const char* meaning_of(int error) {
  switch (static_cast<Error>(error)) {
#define SLUICE_GUEST_ROW(enumerator, name, number, meaning) \
  case Error::enumerator: return meaning;
    SLUICE_GUEST_ERRORS(SLUICE_GUEST_ROW)
#undef SLUICE_GUEST_ROW
  }
  return "unrecognized error code";
}

}  // namespace

int note(Error error) {
  if (error != Error::kSuccess && error != Error::kNotReady) last = error;
  return static_cast<int>(error);
}

Error last_error(bool is_taken) {
  const Error latched = Connection::get().take_latched();
  if (latched != Error::kSuccess) last = latched;
  return is_taken ? std::exchange(last, Error::kSuccess) : last;
}

}  // namespace sluice::guest

using sluice::guest::last_error;

SLUICE_GUEST_EXPORT int cudaGetLastError() { return static_cast<int>(last_error(true)); }
SLUICE_GUEST_EXPORT int cudaPeekAtLastError() { return static_cast<int>(last_error(false)); }
SLUICE_GUEST_EXPORT const char* cudaGetErrorName(int error) {
  return sluice::guest::name_of(error);
}
SLUICE_GUEST_EXPORT const char* cudaGetErrorString(int error) {
  return sluice::guest::meaning_of(error);
}

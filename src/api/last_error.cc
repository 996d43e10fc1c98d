#include "api/last_error.h"

#include <string>

namespace sluice::api {
namespace {

thread_local std::string g_last_error;  // NOLINT: one per thread is what the interface promises

}  // namespace

const char* last_error() { return g_last_error.c_str(); }

std::int32_t report(const Status& status) {
  if (!status.is_ok()) g_last_error = status.message();
  return static_cast<std::int32_t>(status.code());
}

}  // namespace sluice::api

#include "api/functions/callbacks.h"

#include "terms/runtime_code.h"

namespace sluice::api {
namespace {

thread_local int g_depth = 0;  // NOLINT: of the calling thread

}  // namespace

InCallback::InCallback() { ++g_depth; }
InCallback::~InCallback() { --g_depth; }

Status refuse_in_callback() {
  if (g_depth == 0) return ok_status();
  return terms::runtime_error(RuntimeCode::kFailed,
                              "this function blocks, and a callback must not: its thread runs "
                              "the requests; submit, or call it on another thread");
}

}  // namespace sluice::api

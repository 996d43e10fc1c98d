#include "rpc/wire/function_messages.h"

namespace sluice::rpc::wire {
namespace {

/// An absent share is 1, an absent keep-warm time the default.
sandbox::FunctionOptions options_of(const v1::FunctionOptions& from) {
  sandbox::FunctionOptions to;
  if (from.share() != 0) to.share = from.share();
  to.priority = from.priority();
  to.memory_bytes = from.memory_bytes();
  if (from.has_keep_warm_ns()) to.keep_warm_ns = from.keep_warm_ns();
  return to;
}

}  // namespace

void to_proto(const sandbox::FunctionOptions& from, v1::FunctionOptions& to) {
  to.set_share(from.share);
  to.set_priority(from.priority);
  to.set_memory_bytes(from.memory_bytes);
  to.set_keep_warm_ns(from.keep_warm_ns);
}

Result<sandbox::FunctionOptions> from_proto(const v1::FunctionOptions& from) {
  const sandbox::FunctionOptions options = options_of(from);
  SLUICE_TRY(sandbox::check(options));
  return options;
}

void to_proto(const sandbox::FunctionState& from, v1::FunctionState& to) {
  to_proto(from.options, *to.mutable_options());
  to.set_phase(std::string(sandbox::phase_name(from.phase)));
  to.set_held_bytes(from.held_bytes);
  to.set_requests(from.num_requests);
  to.set_starts(from.num_starts);
  to.set_last_start_ns(from.last_start_ns);
  to.set_busy_ns(from.busy_ns);
}

sandbox::FunctionState from_proto(const v1::FunctionState& from) {
  sandbox::FunctionState to;
  to.options = options_of(from.options());
  to.phase = sandbox::parse_function_phase(from.phase());
  to.held_bytes = from.held_bytes();
  to.num_requests = from.requests();
  to.num_starts = from.starts();
  to.last_start_ns = from.last_start_ns();
  to.busy_ns = from.busy_ns();
  return to;
}

}  // namespace sluice::rpc::wire

// Reads any bytes as the body of a request for a text, in the forms of all protocols.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "http/completions/text_call.h"

namespace {

/// What was read is bounded, and is a prompt.
void check(const sluice::Result<sluice::http::TextCall>& call) {
  if (!call.is_ok()) return;
  const bool has_prompt = !call->prompt.empty() || !call->ids.empty() || !call->messages.empty();
  if (!has_prompt || call->stops.size() > 32 || call->stop_ids.size() > 16) std::abort();
  if (call->max_tokens.value_or(0) < 0 || call->timeout_us < 0) std::abort();
  const auto sampling = call->sampling.over({}, 1);
  const auto status = sampling.check();
  (void)status;  // out of range is refused later
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(sluice::http::read_completion(body));
  check(sluice::http::read_chat(body));
  check(sluice::http::read_generate(body));
  return 0;
}

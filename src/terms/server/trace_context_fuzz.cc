// Reads any bytes as a traceparent. A valid one is the same after it was written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "terms/server/trace_context.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::terms;
  const auto context =
      parse_traceparent(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!context) return 0;
  const auto again = parse_traceparent(to_traceparent(*context));
  if (!again || again->trace != context->trace || again->span != context->span ||
      again->is_sampled != context->is_sampled) {
    std::abort();
  }
  return 0;
}

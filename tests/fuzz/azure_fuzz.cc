// Reads any text as each of the trace files. What is read has sizes that the text explains.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../../bench/sandbox/azure.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::bench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto counts = parse_azure_counts(text);
  if (counts.is_ok() && counts->size() * 1440 > size) std::abort();
  if (counts.is_ok()) static_cast<void>(minutes_of(*counts));
  static_cast<void>(parse_azure_durations(text).is_ok());
  const auto invocations = parse_azure_invocations(text);
  if (!invocations.is_ok()) return 0;
  double last_s = 0;
  for (const AzureInvocation& one : *invocations) {
    if (!(one.start_s >= last_s)) std::abort();
    last_s = one.start_s;
  }
  return 0;
}

#include "telemetry/trace_ids.h"

#include <algorithm>
#include <random>

namespace sluice::telemetry {
namespace {

std::mt19937_64& engine() {
  thread_local std::mt19937_64 of_thread = [] {
    std::random_device device;
    std::seed_seq seed = {device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return of_thread;
}

template <typename Id>
Id new_id() {
  Id id = {};
  while (std::ranges::count(id, 0) == std::ssize(id)) {
    for (std::size_t i = 0; i < id.size(); i += 8) {
      std::uint64_t word = engine()();
      for (std::size_t byte = i; byte < i + 8; ++byte, word >>= 8) {
        id[byte] = static_cast<std::uint8_t>(word);
      }
    }
  }
  return id;
}

}  // namespace

terms::TraceId new_trace_id() { return new_id<terms::TraceId>(); }
terms::SpanId new_span_id() { return new_id<terms::SpanId>(); }

bool is_one_of(std::int64_t rate) { return engine()() % static_cast<std::uint64_t>(rate) == 0; }

}  // namespace sluice::telemetry

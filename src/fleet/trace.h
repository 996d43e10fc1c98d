// Requests that a fleet gets: read from a file, or generated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::fleet {

struct Arrival {
  std::int64_t time_ns = 0;      ///< since the start of the trace
  std::uint32_t model = 0;       ///< index in Trace::models
  std::int32_t rows = 1;         ///< of its inputs
  std::int64_t deadline_ns = 0;  ///< from its arrival; 0: none
};

struct Trace {
  std::string origin;               ///< for people: "trace.csv", "Poisson, 100/s for 60 s, seed 1"
  std::vector<std::string> models;  ///< by Arrival::model
  std::vector<Arrival> arrivals;    ///< ascending times

  double seconds() const;  ///< to the last arrival
};

inline constexpr std::size_t kMaxArrivals = 20'000'000;
inline constexpr std::size_t kMaxTraceModels = 100'000;
inline constexpr std::int64_t kMaxTraceBytes = std::int64_t{2} << 30;
inline constexpr std::int32_t kMaxRows = 1 << 20;

/// Lines of text, the first of which is "arrival_s,model", "arrival_s,model,rows" or
/// "arrival_s,model,rows,deadline_s". Times are seconds, in any order; a deadline of 0 is none.
/// Fails: kInvalidArgument naming the line; kResourceExhausted over the limits above.
Result<Trace> parse_trace(std::string_view text);

/// Such a file, or one that `sluiced --record` wrote. A request of a recording has the rows of its
/// first input. Fails: as reading; parse_trace; telemetry::parse_traffic.
Result<Trace> read_trace(const std::string& path);

/// A load of the form that public traces of functions and of inference have.
struct GeneratedLoad {
  double per_second = 0;  ///< on average, of all models
  double seconds = 60;
  double day_seconds = 0;  ///< length of a day; 0: the rate is the same all the time
  int num_models = 1;      ///< their shares fall as one by their rank
  std::int64_t deadline_ns = 0;
  std::uint64_t seed = 1;
};

/// A Poisson process. With a day, its rate goes between 0.4 and 1.6 times the average in a sine
/// wave, and doubles in bursts, of a 200th of a day on average, a twentieth of the time. Names are
/// "MODEL" for one model, else "MODEL/0", "MODEL/1" ... The same load gives the same trace.
/// Fails: kResourceExhausted for more than kMaxArrivals; kInvalidArgument for numbers not above 0.
Result<Trace> generate_trace(const GeneratedLoad& load, const std::string& model);

}  // namespace sluice::fleet

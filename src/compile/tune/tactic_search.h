// Finds the fastest tactic of each operation: rounds of measurements, and tests of their
// significance. Knows neither graphs nor backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace sluice::compile {

/// A model with one tactic chosen for each group of operations.
class TrialModel {
 public:
  virtual ~TrialModel() = default;
  /// Runs once; the total time of each group's operations in ns, 0 if not timed.
  virtual Result<std::vector<double>> time_groups() = 0;
  /// Runs once as a user would; ns.
  virtual Result<double> time_run() = 0;
};

/// Creates a model in which group g uses tactic `choice[g]`; tactic 0 is the current one.
using MakeTrial = std::function<Result<std::unique_ptr<TrialModel>>(std::span<const int> choice)>;

struct SearchOptions {
  std::int64_t time_box_ns = 0;
  /// The least gain over tactic 0 for which a tactic is taken: above the noise.
  double least_gain = 0.03;
  /// Told what happens, and which part of the time box is over; may be empty.
  std::function<void(std::string_view phase, double done)> progress;
};

/// The result of a tactic against tactic 0 in the first phase.
struct TacticOutcome {
  int rounds = 0;
  double ns = 0;     ///< the lower quartile
  double ratio = 1;  ///< of that to tactic 0's
};

struct GroupOutcome {
  int tactic = 0;
  /// Lower quartiles, in ns, of the tactics 0 and `tactic` where they were compared last; 0 if
  /// never.
  double before_ns = 0;
  double after_ns = 0;
  int confirmed = 0;                   ///< as `tactic`, but kept if the whole model did not gain
  std::vector<TacticOutcome> tactics;  ///< by tactic
};

struct SearchOutcome {
  std::vector<GroupOutcome> groups;  ///< all with tactic 0 if the whole model did not gain
  double before_ns = 0;              ///< a whole run; 0 if nothing came so far
  double after_ns = 0;
  int rounds = 0;  ///< in which the tactics were compared
};

/// Three phases, in 55, 20 and 25 % of the time box:
///
///   compare  a model per tactic runs in turn, round after round, and the time of each operation is
///            taken where it stands, with its neighbours' data in the caches and its weights as far
///            away as they are in that model. A tactic is a candidate if the lower quartile of its
///            times is below 1 - least_gain of tactic 0's, and it was faster in more rounds than
///            chance would give, by two standard deviations.
///   confirm  the candidates together, in models made anew: what gains less than half of that here,
///            or by less than one standard deviation, was luck, in measuring or in where memory
///            lay.
///   whole    the same runs as a whole: unless they gain, everything stays as it was.
///
/// The time box is kept but for the run at hand and the making of a model; groups without enough
/// measurements keep tactic 0. `num_tactics[g]` >= 1.
/// Fails: what making and running models report.
Result<SearchOutcome> search_tactics(std::span<const int> num_tactics, const MakeTrial& make_trial,
                                     const Clock& clock, const SearchOptions& options);

}  // namespace sluice::compile

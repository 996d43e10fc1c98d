// Which of several ways to compute each operation is fastest: rounds of measurements, and when to
// believe them. Knows neither graphs nor backends.
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

/// A model in which every group of operations is computed in one of its ways.
class TrialModel {
 public:
  virtual ~TrialModel() = default;
  /// Runs once; by group, what its operations took together, in ns. 0 for what nobody timed.
  virtual Result<std::vector<double>> time_groups() = 0;
  /// Runs once as a user would; ns.
  virtual Result<double> time_run() = 0;
};

/// Makes models ready to run, in which group g goes its way `choice[g]`; way 0 is the one it had.
using MakeTrial = std::function<Result<std::unique_ptr<TrialModel>>(std::span<const int> choice)>;

struct SearchOptions {
  std::int64_t time_box_ns = 0;
  /// What a way must gain over way 0 to be taken: more than noise.
  double least_gain = 0.03;
  /// Told what happens, and which part of the time box is over; may be empty.
  std::function<void(std::string_view phase, double done)> progress;
};

/// How a way did against way 0 while all were compared.
struct WayOutcome {
  int rounds = 0;
  double ns = 0;     ///< the lower quartile
  double ratio = 1;  ///< of that to way 0's
};

struct GroupOutcome {
  int way = 0;
  /// Lower quartiles, in ns, of the ways 0 and `way` where they were compared last; 0 if never.
  double before_ns = 0;
  double after_ns = 0;
  int confirmed = 0;             ///< as `way`, whether or not the whole model gained
  std::vector<WayOutcome> ways;  ///< by way, that of way 0 as it is
};

struct SearchOutcome {
  std::vector<GroupOutcome> groups;  ///< all of way 0 where the whole model did not gain
  double before_ns = 0;              ///< a whole run; 0 if nothing came so far
  double after_ns = 0;
  int rounds = 0;  ///< in which the ways were compared
};

/// Three phases, in 55, 20 and 25 % of the time box:
///
///   compare  a model per way runs in turn, round after round, and the time of each operation is
///            taken where it stands, with its neighbours' data in the caches and its weights as far
///            away as they are in that model. A way is a candidate if the lower quartile of its
///            times is below 1 - least_gain of way 0's, and it was faster in more rounds than
///            chance would give, by two standard deviations.
///   confirm  the candidates together, in models made anew: what gains less than half of that here,
///            or by less than one standard deviation, was luck, in measuring or in where memory
///            lay.
///   whole    the same runs as a whole: unless they gain, everything stays as it was.
///
/// The time box is kept but for the run at hand and the making of a model; what too little time is
/// left for stays as it was. `num_ways[g]` >= 1. Fails: what making and running models report.
Result<SearchOutcome> search_variants(std::span<const int> num_ways, const MakeTrial& make_trial,
                                      const Clock& clock, const SearchOptions& options);

}  // namespace sluice::compile

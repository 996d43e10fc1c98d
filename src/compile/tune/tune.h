// Chooses the tactic of each operation of an executable by measurement on this machine.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/registry.h"
#include "base/clock.h"
#include "compile/tune/tactic_search.h"
#include "exec/value.h"
#include "package/executable.h"

namespace sluice::compile {

/// The fact of a tuned executable that says for which machine: "AMD EPYC, avx512; 2 cores".
inline constexpr std::string_view kTunedFor = "tuned_for";

struct TuneOptions {
  double seconds = 30;  ///< the time box
  int num_threads = 0;  ///< cores to tune for; 0 for all
  /// Called with the current phase and the share of the time box that has passed; may be empty.
  std::function<void(std::string_view phase, double done)> progress;
};

/// A group of equal operations whose tactic changed.
struct TunedGroup {
  std::string text;       ///< "Conv+Relu [1,64,56,56] [64,64,3,3]"
  std::size_t count = 0;  ///< of operations
  std::string from, to;   ///< names of tactics; "" for the backend's own choice
  double before_ns = 0;   ///< sum of the lower quartiles of all operations of a run
  double after_ns = 0;
};

/// A group of equal operations, and the measurement of each tactic.
struct MeasuredGroup {
  std::string text;
  std::size_t count = 0;
  std::vector<std::string> tactics;  ///< the first is what they had
  std::vector<TacticOutcome> outcomes;
  std::size_t confirmed = 0;  ///< the tactic that was faster in both phases
};

struct TuneReport {
  std::string machine;
  /// A device is a simulation, whose figures count work and are no times.
  bool is_simulated = false;
  std::size_t num_groups = 0;  ///< of operations with more than one tactic
  int rounds = 0;
  std::vector<TunedGroup> changed;  ///< those that gained most first
  std::vector<MeasuredGroup> measured;
  double before_ns = 0;  ///< a whole run; 0 where no comparison came so far
  double after_ns = 0;
};

struct Tuning {
  package::Executable executable;
  TuneReport report;
};

/// Measures the tactics that backends offer (sluice/extensions/variants.h) within the model, as
/// search_tactics says, on `inputs`, one for each of the model's; puts the winners on the
/// operations as their attribute `sluice_variant`, and packs constants anew where they want another
/// form, if the executable had any packed; so it does with compiled kernels. If no tactic gains,
/// the executable is returned unchanged.
///
/// On other machines the results are the same up to rounding: a backend that does not know a
/// tactic, or has another instruction set, uses its default.
/// Fails: kInvalidArgument for inputs that do not match the model's; what loading and running
///        report.
Result<Tuning> tune(package::Executable executable, std::span<const terms::TensorView> inputs,
                    const backend::BackendRegistry& registry, const TuneOptions& options,
                    const Clock& clock = system_clock());

}  // namespace sluice::compile

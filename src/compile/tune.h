// Choosing, by measuring, how each operation of an executable is computed on this machine.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/registry.h"
#include "base/clock.h"
#include "compile/variant_search.h"
#include "exec/value.h"
#include "package/executable.h"

namespace sluice::compile {

/// The fact of a tuned executable that says for which machine: "AMD EPYC, avx512; 2 cores".
inline constexpr std::string_view kTunedFor = "tuned_for";

struct TuneOptions {
  double seconds = 30;  ///< the time box
  int num_threads = 0;  ///< cores to tune for; 0 for all
  /// Told what happens, and which part of the time box is over; may be empty.
  std::function<void(std::string_view phase, double done)> progress;
};

/// Operations that are alike and are computed in another way from now on.
struct TunedGroup {
  std::string text;       ///< "Conv+Relu [1,64,56,56] [64,64,3,3]"
  std::size_t count = 0;  ///< of operations
  std::string from, to;   ///< names of ways; "" for the backend's own choice
  double before_ns = 0;   ///< lower quartiles of all of them together, in a run
  double after_ns = 0;
};

/// Operations that are alike, and how each way of theirs did.
struct MeasuredGroup {
  std::string text;
  std::size_t count = 0;
  std::vector<std::string> ways;  ///< the first is what they had
  std::vector<WayOutcome> outcomes;
  std::size_t confirmed = 0;  ///< the way that was faster twice, among others that were
};

struct TuneReport {
  std::string machine;
  std::size_t num_groups = 0;  ///< of operations with more than one way
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

/// Measures the ways that backends offer (sluice/variants.h) within the model, as search_variants
/// says, on `inputs`, one for each of the model's; puts the winners on the operations as their
/// attribute `sluice_variant`, and packs constants anew where they want another form, if the
/// executable had any packed. Where nothing gains, the executable comes back as it was.
///
/// A run elsewhere computes the same but for rounding: backends that do not know a way, or have
/// another instruction set, choose for themselves.
/// Fails: kInvalidArgument for inputs that do not fit; what loading and running report.
Result<Tuning> tune(package::Executable executable, std::span<const exec::TensorView> inputs,
                    const backend::BackendRegistry& registry, const TuneOptions& options,
                    const Clock& clock = system_clock());

}  // namespace sluice::compile

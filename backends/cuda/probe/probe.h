// Programs that ask a driver how it behaves. The installed driver and the emulator run the same
// ones, and their answers are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugin/backend.h"

namespace sluice::cuda {

/// What a group of probes needs. A probe writes lines `subject: answer`; a subject is written once.
class Prober {
 public:
  /// `open` gives a driver; it is called again for each way to confine kernels.
  using Open = std::function<Status(Confine, Driver*)>;
  explicit Prober(Open open) : open_(std::move(open)) {}

  /// A backend of its own for each call; null, and a line that says why, if there is none.
  std::unique_ptr<Backend> start(Confine confine);
  void say(const std::string& subject, const std::string& answer);
  void say(const std::string& subject, CuResult answer);
  const std::vector<std::string>& lines() const { return lines_; }
  /// Runs a probe in a process of its own, since faults outlast contexts. Requires: no driver was
  /// opened in this process.
  void run_apart(const std::function<void(Prober&)>& probe);

 private:
  Open open_;
  std::vector<std::string> lines_;
};

/// How the driver splits multiprocessors, where kernels of green contexts and of masks run, and
/// whether each block ran once.
void probe_partitions(Prober& prober);
/// Pools: bytes in use and reserved after frees, waits and trims.
void probe_pools(Prober& prober);
/// Captures: which calls they forbid, and with which results.
void probe_captures(Prober& prober);
/// Results of wrong calls.
void probe_errors(Prober& prober);
/// What a faulting kernel leaves behind, and which ways lead out of it: fault `number` of
/// kNumFaults. Ends the use of the driver in its process.
void probe_fault(Prober& prober, int number);
inline constexpr int kNumFaults = 6;

/// A kernel of this text, called sluice_kernel; null if it does not compile.
std::shared_ptr<const LoadedKernel> load_kernel(Backend& backend, const char* text);

}  // namespace sluice::cuda

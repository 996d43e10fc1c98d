// The end of runs before their time, from any thread.
#pragma once

#include <nanobind/nanobind.h>
#include <sluice/sluice.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace sluice::python {

/// Ends the runs that were given it: those under way, and later ones until `reset`. Any thread may
/// use it, without the GIL.
class Cancellation {
 public:
  /// Returns after every run under way has the signal. A run that binds its tensors gets it then.
  void cancel();
  /// Lets later runs start.
  void reset();
  bool is_cancelled();

  /// A run while it is under way. It ends before its context is used otherwise.
  class Run {
   public:
    /// `cancellation` may be null. Throws Failure (CANCELLED) after `cancel`.
    Run(Cancellation* cancellation, sluice_context* context);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Cancellation* cancellation_;
    sluice_context* context_;
  };

 private:
  struct Entry {
    sluice_context* context;
    bool is_told;
  };
  bool tell_runs();

  std::mutex mutex_;  // of all below
  std::condition_variable left_;
  std::vector<Entry> runs_;
  bool is_cancelled_ = false;
};

void bind_cancellation(nanobind::module_& module);

}  // namespace sluice::python

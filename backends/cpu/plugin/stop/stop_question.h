#pragma once

#include <atomic>

#include "core/stop.h"
#include "sluice/extensions/stop.h"

namespace sluice::cpu {

/// Whether a run of a command list shall end early. The thread that submitted the list asks the
/// host; the other workers look at the answer.
class Stop {
 public:
  /// Before a run, by its thread.
  void start(sluice_stop_question question, void* user) {
    question_ = question;
    user_ = user;
    is_set_.store(false, std::memory_order_relaxed);
  }

  bool is_set() const { return is_set_.load(std::memory_order_relaxed); }

  // On the thread that submitted the list.

  bool ask() {
    if (question_ != nullptr && !is_set() && question_(user_) != 0) {
      is_set_.store(true, std::memory_order_relaxed);
    }
    return is_set();
  }
  /// Asks at every 16th call: for places that a kernel passes every few microseconds.
  bool ask_now_and_then() { return ++calls_ % 16 == 0 ? ask() : is_set(); }

 private:
  sluice_stop_question question_ = nullptr;
  void* user_ = nullptr;
  unsigned calls_ = 0;
  std::atomic<bool> is_set_{false};
};

/// While it lives, this thread works on a run.
class StopScope {
 public:
  /// `may_ask`: this thread submitted the list.
  StopScope(Stop* stop, bool may_ask);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
};

/// The extension "sluice.stop/1".
extern const sluice_stop kStop;

/// Begins a run of this thread with the question that the host registered for it.
void start_stop(Stop* stop);

}  // namespace sluice::cpu

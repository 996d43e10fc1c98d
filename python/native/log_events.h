// The log of libsluice for Python: threads of the library put events into a list, one thread of
// Python takes them out. No thread of the library takes the GIL for it.
#pragma once

#include <nanobind/nanobind.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::python {

namespace nb = nanobind;

/// Hears the events of the process from its creation to `close`. One at a time.
class LogEvents {
 public:
  /// `max_level`: that of the finest events, one of SLUICE_LOG_. Throws Failure as sluice::set_log.
  explicit LogEvents(std::int32_t max_level);
  LogEvents(const LogEvents&) = delete;
  LogEvents& operator=(const LogEvents&) = delete;

  /// Waits without the GIL for events. Returns tuples (level, text); an empty list once it is
  /// closed and everything was taken.
  nb::list wait();
  /// Hears nothing from now on. Throws Failure as sluice::set_log.
  void close();

 private:
  struct Event {
    std::int32_t level;
    std::string text;
  };
  struct State {
    std::mutex mutex;  // of what follows
    std::condition_variable changed;
    std::vector<Event> events;
    std::size_t num_dropped = 0;
    bool is_closed = false;
  };
  static void add(State& state, std::int32_t level, std::string text);

  std::shared_ptr<State> state_;  ///< the library's callback owns it, too
};

void bind_log_events(nb::module_& module);

}  // namespace sluice::python

#include "log_events.h"

#include <sluice/sluice.hpp>

#include <string_view>
#include <utility>

#include "calls/errors.h"

namespace sluice::python {
namespace {

/// Events that wait for Python; later ones are dropped.
constexpr std::size_t kMaxWaiting = 10000;

void check_error(const std::optional<Error>& error) {
  if (error) throw Failure(error->code, error->message);
}

}  // namespace

LogEvents::LogEvents(std::int32_t max_level) : state_(std::make_shared<State>()) {
  const nb::gil_scoped_release released;
  check_error(
      set_log([state = state_](int level,
                               std::string_view event) { add(*state, level, std::string(event)); },
              max_level));
}

void LogEvents::add(State& state, std::int32_t level, std::string text) {
  const std::lock_guard lock(state.mutex);
  if (state.events.size() >= kMaxWaiting) {
    ++state.num_dropped;
    return;
  }
  state.events.push_back({level, std::move(text)});
  state.changed.notify_one();
}

nb::list LogEvents::wait() {
  std::vector<Event> taken;
  std::size_t num_dropped = 0;
  {
    const nb::gil_scoped_release released;
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->is_closed || !state_->events.empty(); });
    taken.swap(state_->events);
    num_dropped = std::exchange(state_->num_dropped, 0);
  }
  nb::list events;
  for (const Event& event : taken) events.append(nb::make_tuple(event.level, to_text(event.text)));
  if (num_dropped > 0) {
    events.append(nb::make_tuple(SLUICE_LOG_WARNING,
                                 to_text("log.dropped events=" + std::to_string(num_dropped))));
  }
  return events;
}

void LogEvents::close() {
  const nb::gil_scoped_release released;
  check_error(set_log({}));
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
  state_->changed.notify_all();
}

void bind_log_events(nb::module_& module) {
  nb::class_<LogEvents>(module, "LogEvents", "Events of the library, for one thread that waits.")
      .def(nb::init<std::int32_t>(), nb::arg("max_level"))
      .def("wait", &LogEvents::wait)
      .def("close", &LogEvents::close);
}

}  // namespace sluice::python

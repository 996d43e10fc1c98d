#include "backend/extensions/step_observer.h"

#include "backend/handle.h"
#include "backend/handshake.h"
#include "sluice/extensions/step_times.h"

namespace sluice::backend {
namespace {

constexpr std::size_t kLongestText = 256;

std::string text_of(const char* text) {
  return text == nullptr ? "" : bounded_text(text, kLongestText).value_or("?");
}

// No exception may pass the plug-in that calls it.
void add_steps(void* user, const sluice_step_time* steps, std::int32_t num_steps) noexcept {
  auto& all = *static_cast<std::vector<StepTime>*>(user);
  for (std::int32_t i = 0; i < num_steps; ++i) {
    const sluice_step_time& step = steps[i];
    all.push_back({text_of(step.kind), text_of(step.name), step.start_ns, step.duration_ns});
  }
}

/// Null if the extension is missing or incomplete: observation is best effort.
const sluice_step_times* table_of(const Backend& backend) {
  const auto found = backend.find_table<sluice_step_times>(SLUICE_STEP_TIMES);
  return found.is_ok() ? *found : nullptr;
}

void observe(const Backend& backend, const sluice_step_times& table, sluice_step_observer observer,
             void* user) {
  const Status status = call_plugin(backend.name(), [&](sluice_message*) {
    table.observe(backend.handle(), observer, user);
    return SLUICE_OK;
  });
  (void)status;  // best effort: the request continues without times
}

}  // namespace

StepObserver::StepObserver(const Backend& backend, std::vector<StepTime>& steps)
    : backend_(backend), table_(table_of(backend)) {
  if (table_ == nullptr) return;
  observe(backend_, *static_cast<const sluice_step_times*>(table_), add_steps, &steps);
}

StepObserver::~StepObserver() {
  if (table_ == nullptr) return;
  observe(backend_, *static_cast<const sluice_step_times*>(table_), nullptr, nullptr);
}

}  // namespace sluice::backend

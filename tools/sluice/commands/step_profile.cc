#include "sluice/commands/step_profile.h"

#include <algorithm>

#include "backend/extensions/step_observer.h"
#include "ir/source.h"

namespace sluice::tool {
namespace {

using backend::StepTime;

/// The backends of the model's groups, each once.
std::vector<const backend::Backend*> backends_of(const exec::LoadedModel& model) {
  std::vector<const backend::Backend*> backends;
  for (std::size_t i = 0; i < model.num_segments(); ++i) {
    const backend::Backend* backend = &model.group_of(i)->backend();
    if (std::find(backends.begin(), backends.end(), backend) == backends.end()) {
      backends.push_back(backend);
    }
  }
  return backends;
}

}  // namespace

Result<std::string> profile_run(const exec::LoadedModel& model, exec::Context& context) {
  SLUICE_TRY(context.run());  // memory and caches as in later runs
  std::vector<StepTime> steps;
  {
    std::vector<std::unique_ptr<backend::StepObserver>> observers;
    for (const backend::Backend* backend : backends_of(model)) {
      observers.push_back(std::make_unique<backend::StepObserver>(*backend, steps));
    }
    SLUICE_TRY(context.run());
  }
  if (steps.empty()) return unimplemented("--profile: the backends of the model tell no steps");
  std::stable_sort(steps.begin(), steps.end(), [](const StepTime& a, const StepTime& b) {
    return a.duration_ns > b.duration_ns;
  });
  std::int64_t total_ns = 0;
  for (const StepTime& step : steps) total_ns += step.duration_ns;
  std::string text = fmt::format("{:>9} {:>6}  {:<24} {:<32} source\n", "us", "%", "step", "name");
  for (const StepTime& step : steps) {
    const std::string* source = ir::find_source(model.executable().graph, step.name);
    text += fmt::format("{:>9.1f} {:>6.1f}  {:<24} {:<32} {}\n",
                        static_cast<double>(step.duration_ns) / 1e3,
                        100.0 * static_cast<double>(step.duration_ns) /
                            static_cast<double>(std::max<std::int64_t>(total_ns, 1)),
                        step.kind, step.name, source == nullptr ? "" : *source);
  }
  return text + fmt::format("{:>9.1f} {:>6}  {} steps\n", static_cast<double>(total_ns) / 1e3, "",
                            steps.size());
}

}  // namespace sluice::tool

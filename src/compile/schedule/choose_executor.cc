#include "compile/schedule/choose_executor.h"

#include <algorithm>
#include <vector>

#include "backend/extensions/virtual_time.h"
#include "base/clock.h"
#include "exec/loaded_model.h"

namespace sluice::compile {
namespace {

/// The medians of so many runs are compared. Runs take turns, so that a change of the machine's
/// speed affects all; a model that takes long is run less often.
constexpr int kRounds = 15;
constexpr std::int64_t kMaxCompareNs = 3'000'000'000;
// Another executor must save 5 %: below that, noise would decide, and two compilations of one model
// would differ.
constexpr double kWorthwhile = 0.95;

/// A context whose inputs are zeros.
class Trial {
 public:
  static Result<Trial> create(const package::Executable& executable,
                              const backend::BackendRegistry& backends, exec::ExecutorKind kind) {
    exec::LoadOptions options;
    options.executor = kind;
    auto model = SLUICE_TRY(exec::LoadedModel::load(executable, backends, options));
    auto context = SLUICE_TRY(model.create_context());
    Trial trial(std::move(model), std::move(context));
    SLUICE_TRY(trial.set_inputs());
    // The first run plans, allocates and touches memory, so it is not measured.
    SLUICE_TRY(trial.context_.run());
    return trial;
  }

  bool has_static_shapes() const { return model_.has_static_shapes(); }
  bool has_one_task() const { return model_.num_tasks() == 1; }

  Status measure(const Clock& clock) {
    const std::int64_t start_ns = clock.now_ns();
    SLUICE_TRY(context_.run());
    times_ns_.push_back(clock.now_ns() - start_ns);
    return ok_status();
  }

  double median_ns() {
    std::ranges::sort(times_ns_);
    return static_cast<double>(times_ns_[times_ns_.size() / 2]);
  }

 private:
  Trial(exec::LoadedModel model, exec::Context context)
      : model_(std::move(model)), context_(std::move(context)) {}

  Status set_inputs() {
    const auto& specs = model_.signature().inputs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto size = ir::storage_bytes(specs[i].type);
      const auto dims = specs[i].type.static_dims();
      if (!size || !dims) return unimplemented("input \"{}\" has no fixed size", specs[i].name);
      zeros_.emplace_back(static_cast<std::size_t>(*size));
      void* data = zeros_.back().view().data();
      SLUICE_TRY(context_.set_input(i, {data, *size, specs[i].type.element(), *dims}));
    }
    return ok_status();
  }

  std::vector<MutableBytes> zeros_;  // read by the context
  exec::LoadedModel model_;
  exec::Context context_;
  std::vector<std::int64_t> times_ns_;
};

bool has_static_inputs(const package::Executable& executable) {
  const auto inputs = package::signature_of(executable.graph).inputs;
  // A simulated backend's time is virtual: its runs take as long as its clock says, whatever the
  // machine does.
  return std::ranges::all_of(inputs, [](const terms::TensorSpec& spec) {
    return spec.type.is_tensor() && spec.type.is_static() && ir::storage_bytes(spec.type);
  });
}

/// The clock of the first backend that simulates, else the system's.
Result<std::shared_ptr<const Clock>> clock_of(const package::Executable& executable,
                                              const backend::BackendRegistry& backends) {
  for (const std::string& name : executable.backends) {
    auto time = backend::VirtualTime::of(SLUICE_TRY(backends.find(name)));
    if (time.is_ok()) return std::shared_ptr<const Clock>(std::move(time).value());
  }
  return std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &system_clock());
}

}  // namespace

Result<exec::ExecutorKind> choose_executor(const package::Executable& executable,
                                           const backend::BackendRegistry& backends) {
  if (!has_static_inputs(executable)) return exec::ExecutorKind::kLinear;
  const auto clock = SLUICE_TRY(clock_of(executable, backends));
  auto linear = SLUICE_TRY(Trial::create(executable, backends, exec::ExecutorKind::kLinear));
  if (!linear.has_static_shapes()) return exec::ExecutorKind::kLinear;
  auto dataflow = SLUICE_TRY(Trial::create(executable, backends, exec::ExecutorKind::kDataflow));
  // All lists in one task leave nothing to run at the same time.
  auto parallel = SLUICE_TRY(Trial::create(executable, backends, exec::ExecutorKind::kParallel));
  if (parallel.has_one_task()) return exec::ExecutorKind::kLinear;
  const std::int64_t start_ns = system_clock().now_ns();
  for (int round = 0; round < kRounds; ++round) {
    SLUICE_TRY(linear.measure(*clock));
    SLUICE_TRY(dataflow.measure(*clock));
    SLUICE_TRY(parallel.measure(*clock));
    // By the system's clock: this bounds how long the user waits.
    if (system_clock().now_ns() - start_ns > kMaxCompareNs) break;
  }
  exec::ExecutorKind best = exec::ExecutorKind::kLinear;
  double best_ns = linear.median_ns();
  const auto consider = [&](exec::ExecutorKind kind, double time_ns) {
    if (time_ns > kWorthwhile * best_ns) return;
    best = kind;
    best_ns = time_ns;
  };
  if (!dataflow.has_one_task()) consider(exec::ExecutorKind::kDataflow, dataflow.median_ns());
  consider(exec::ExecutorKind::kParallel, parallel.median_ns());
  return best;
}

}  // namespace sluice::compile

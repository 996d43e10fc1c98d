#include "compile/profiled_scheduler.h"

#include <algorithm>
#include <map>

#include "compile/profile/operation_key.h"
#include "compile/schedule/find_assignment.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

/// Turns the main subgraph into a problem of the search and its answer into backends.
class Scheduling {
 public:
  Scheduling(const ir::Graph& graph, const Placement& placement, const OperatorProfile& profile)
      : graph_(graph), main_(graph.main()), placement_(placement), profile_(profile) {
    for (const auto& backend : placement.backends()) {
      keys_.push_back(find_device_key(profile, *backend).value_or(""));
    }
  }

  Status run(std::vector<std::int16_t>& assignment) {
    add_devices();
    for (std::size_t i = 0; i < main_.order().size(); ++i) {
      SLUICE_TRY(add_task(main_.operation(main_.order()[i]), assignment[i]));
    }
    if (!missing_.empty()) return missing();
    // Nothing could be chosen; without this error --operator-times would silently do nothing.
    if (num_fixed_ > 0 && num_movable_ == 0) {
      return invalid_argument(
          "times are those of known shapes, and this model leaves dimensions open: fix them with "
          "--shape, here and for `sluice operator-times`");
    }
    for (const ir::OperandId id : main_.outputs) {
      const auto tensor = tensors_.find(id);
      if (tensor != tensors_.end())
        problem_.tensors[static_cast<std::size_t>(tensor->second)].is_result = true;
    }
    const ScheduleOutcome outcome = find_assignment(problem_);
    if (outcome.makespan_ns == kCannotRun) {
      return make_error(
          Code::kResourceExhausted,
          "no choice of backends fits the memory of their devices; allow `host` with --place");
    }
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      // Below 0 are steps without a kernel, which no backend runs.
      if (assignment[i] >= 0) assignment[i] = static_cast<std::int16_t>(outcome.assignment[i]);
    }
    return ok_status();
  }

 private:
  void add_devices() {
    const std::size_t places = placement_.backends().size() + 1;
    std::vector<TransferCost> from_host(places);
    std::vector<TransferCost> to_host(places);
    for (std::size_t i = 0; i + 1 < places; ++i) {
      const backend::DeviceInfo& device = placement_.backends()[i]->devices()[0];
      // 0: no limit of its own, its tensors lie in host memory.
      problem_.devices.push_back({device.has_host_memory ? 0 : device.memory_bytes});
      const auto profiled = profile_.devices.find(keys_[i]);
      if (profiled == profile_.devices.end()) continue;
      problem_.devices.back().launch_ns = profiled->second.launch_ns;
      from_host[i] = profiled->second.to_device;
      to_host[i] = profiled->second.from_device;
    }
    // By way of the host, where no link was measured.
    problem_.transfers.assign(places, std::vector<TransferCost>(places));
    for (std::size_t a = 0; a < places; ++a) {
      for (std::size_t b = 0; b < places; ++b) {
        if (a == b) continue;
        problem_.transfers[a][b] = {to_host[a].latency_ns + from_host[b].latency_ns,
                                    to_host[a].ns_per_byte + from_host[b].ns_per_byte};
        if (const TransferCost* link = find_link(a, b)) problem_.transfers[a][b] = *link;
      }
    }
  }

  /// The measured cost of a copy between devices of one backend; null if it is unknown, or a place
  /// is another backend's or the host.
  const TransferCost* find_link(std::size_t from, std::size_t to) const {
    const Backends backends = placement_.backends();
    if (from >= backends.size() || to >= backends.size()) return nullptr;
    if (backends[from] != backends[to]) return nullptr;
    const auto profiled = profile_.devices.find(keys_[from]);
    if (profiled == profile_.devices.end() || !profiled->second.between_devices) return nullptr;
    return &*profiled->second.between_devices;
  }

  int tensor_of(ir::OperandId id, int producer) {
    const auto [at, is_new] = tensors_.emplace(id, static_cast<int>(problem_.tensors.size()));
    if (is_new) {
      const std::int64_t size = ir::storage_bytes(main_.operand(id).type).value_or(0);
      problem_.tensors.push_back({producer, size, false});
    }
    return at->second;
  }

  Status add_task(const ir::Operation& operation, std::int16_t current) {
    const int index = static_cast<int>(problem_.tasks.size());
    Task task;
    SLUICE_TRY(add_costs(operation, current, task));
    for (const ir::OperandId id : operation.reads()) {
      if (!id.is_valid()) continue;
      if (const ir::Constant* constant = main_.find_constant(id)) {
        task.constant_bytes += static_cast<std::int64_t>(constant->data.size());
      } else {
        task.inputs.push_back(tensor_of(id, -1));
      }
    }
    for (const ir::OperandId id : operation.outputs) {
      if (id.is_valid()) task.outputs.push_back(tensor_of(id, index));
    }
    problem_.tasks.push_back(std::move(task));
    return ok_status();
  }

  Status add_costs(const ir::Operation& operation, std::int16_t current, Task& task) {
    const std::size_t count = placement_.backends().size();
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (current < 0) {
      // A view is where its tensor is; other steps without kernel are the executor's, on the host.
      const bool is_view = schema != nullptr && schema->needs_no_kernel();
      task.cost_ns.assign(count, is_view ? 0 : kCannotRun);
      return ok_status();
    }
    task.cost_ns.assign(count, kCannotRun);
    const auto op = backend::Op::create({graph_, main_, operation});
    if (!op.is_ok() || !is_movable(operation)) {
      task.cost_ns[static_cast<std::size_t>(current)] = 0;
      ++num_fixed_;
      return ok_status();
    }
    ++num_movable_;
    for (const std::int16_t candidate : placement_.candidates(graph_, operation)) {
      const auto number = static_cast<std::size_t>(candidate);
      const auto support = SLUICE_TRY(placement_.backends()[number]->query(*op));
      if (!support.is_supported) continue;
      const auto time = profile_.find(keys_[number], key_of(op->get()));
      if (time) {
        // Measured by itself, it had a launch, which it shares with its neighbours here.
        task.cost_ns[number] = std::max(0.0, *time - problem_.devices[number].launch_ns);
      } else {
        missing_[number].push_back(operation.describe());
      }
    }
    return ok_status();
  }

  /// Whether the operation may run elsewhere than where it was put without a profile.
  bool is_movable(const ir::Operation& operation) const {
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema != nullptr && schema->has(ops::kDataDependentShape)) return false;
    const auto is_plain = [&](ir::OperandId id) {
      if (!id.is_valid()) return true;
      const ir::Type& type = main_.operand(id).type;
      return type.is_tensor() && type.element() != ir::ElementType::kString &&
             ir::storage_bytes(type).has_value();
    };
    return std::ranges::all_of(operation.inputs, is_plain) &&
           std::ranges::all_of(operation.outputs, is_plain);
  }

  Status missing() const {
    const auto& [number, operations] = *missing_.begin();
    const std::string& name = placement_.names()[number];
    const std::string measured = profile_.devices.contains(keys_[number])
                                     ? fmt::format("no time of {} and {} more operations",
                                                   operations.front(), operations.size() - 1)
                                     : "no times";
    return make_error(
        Code::kFailedPrecondition,
        "the file of operator times has {} for backend \"{}\" {} as it is here; measure with "
        "`sluice operator-times MODEL --backend {}` and the other options of this compilation",
        measured, name, placement_.backends()[number]->version(),
        fmt::join(placement_.names(), ","));
  }

  const ir::Graph& graph_;
  const ir::Subgraph& main_;
  const Placement& placement_;
  const OperatorProfile& profile_;
  std::vector<std::string> keys_;  ///< by backend of the placement
  ScheduleProblem problem_;
  int num_movable_ = 0;
  int num_fixed_ = 0;  ///< operations with a kernel that stay where they are
  std::map<ir::OperandId, int> tensors_;
  std::map<std::size_t, std::vector<std::string>> missing_;  ///< by backend
};

}  // namespace

Status assign_by_profile(const ir::Graph& graph, const Placement& placement,
                         const OperatorProfile& profile,
                         std::vector<std::vector<std::int16_t>>& assignment) {
  return Scheduling(graph, placement, profile).run(assignment[0]);
}

}  // namespace sluice::compile

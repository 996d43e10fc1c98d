#include "compile/profile/measure.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "backend/command_list.h"
#include "backend/extensions/virtual_time.h"
#include "backend/memory.h"
#include "base/clock.h"
#include "compile/profile/operation_key.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

// Short operations get 31 runs, long ones at least 3: a model of hundreds of operations takes
// seconds.
constexpr std::int64_t kEnoughNs = 20'000'000;  // of runs of one operation
constexpr int kMaxRuns = 31;
constexpr int kFewestRuns = 3;

/// Memory for every operand of an operation, where the group's device reads it. Small positive
/// numbers: no operator takes denormals or NaN on its slow path then.
class Operands {
 public:
  explicit Operands(std::shared_ptr<const backend::Group> group) : group_(std::move(group)) {}

  Result<std::vector<sluice_argument>> make(const ir::Subgraph& subgraph,
                                            std::span<const ir::OperandId> ids) {
    std::vector<sluice_argument> arguments;
    for (const ir::OperandId id : ids) {
      if (!id.is_valid()) {
        arguments.push_back(backend::absent_argument());
        continue;
      }
      MutableBytes bytes = SLUICE_TRY(contents_of(subgraph.operand(id)));
      arguments.push_back(backend::fixed_argument(SLUICE_TRY(address_for(bytes.view()))));
      kept_.push_back(std::move(bytes));
    }
    return arguments;
  }

  /// Copies what was made to a device that reads its own memory alone. Once, after the last `make`.
  Status upload() {
    if (memory_.empty()) return ok_status();
    auto list = SLUICE_TRY(backend::CommandList::create(group_));
    std::vector<void*> bindings;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i].size_bytes() == 0) continue;
      SLUICE_TRY(list.add_copy(backend::bound_argument(static_cast<int>(bindings.size()), 0),
                               backend::fixed_argument(memory_[i].address()),
                               memory_[i].size_bytes()));
      bindings.push_back(kept_[i].view().data());
    }
    SLUICE_TRY(list.finish());
    auto stream = SLUICE_TRY(backend::Stream::create(group_));
    SLUICE_TRY(stream.submit(list, bindings));
    return stream.wait();
  }

 private:
  static Result<MutableBytes> contents_of(const ir::Operand& operand) {
    const auto size = ir::run_bytes(operand.type);
    if (!size || operand.type.element() == ir::ElementType::kString) {
      return unimplemented("\"{}\" has no known size", operand.name);
    }
    MutableBytes bytes(static_cast<std::size_t>(*size));
    if (!operand.constant) {
      fill(operand.type.element(), bytes.view());
      return bytes;
    }
    const auto contents = operand.constant->data.view();
    std::ranges::copy(contents.first(std::min(bytes.view().size(), contents.size())),
                      bytes.view().begin());
    return bytes;
  }

  Result<const void*> address_for(std::span<const std::byte> host) {
    const int device = group_->device();
    const auto& backend = group_->shared_backend();
    if (backend->devices()[static_cast<std::size_t>(device)].has_host_memory) return host.data();
    memory_.push_back(SLUICE_TRY(
        backend::DeviceMemory::allocate(backend, device, static_cast<std::int64_t>(host.size()))));
    return memory_.back().address();
  }

  static void fill(ir::ElementType element, std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{0});
    if (element != ir::ElementType::kF32) return;
    for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
      const float value = 0.25F + static_cast<float>(i % 64) / 256;
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
  }

  const std::shared_ptr<const backend::Group> group_;
  std::vector<MutableBytes> kept_;
  std::vector<backend::DeviceMemory> memory_;  ///< empty, or one for each of `kept_`
};

/// Packs the constants of `op` as the backend wants them; one span per input, empty for unpacked.
Result<std::vector<Bytes>> pack_constants(const backend::Backend& backend, const backend::Op& op) {
  std::vector<Bytes> packed(static_cast<std::size_t>(op.get().num_inputs));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (op.get().inputs[i].is_constant == 0) continue;
    const auto packing = SLUICE_TRY(backend.query_packing(op, static_cast<int>(i)));
    if (!packing) continue;
    MutableBytes bytes(static_cast<std::size_t>(packing->size_bytes));
    SLUICE_TRY(backend.pack(op, static_cast<int>(i), bytes.view()));
    packed[i] = std::move(bytes).freeze();
  }
  return packed;
}

double median(std::vector<double> times) {
  // The median: an interrupt or a neighbour lengthens single runs.
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Result<double> median_of_runs(const std::shared_ptr<const backend::Group>& group,
                              const backend::CommandList& list) {
  const Clock& clock = system_clock();
  auto stream = SLUICE_TRY(backend::Stream::create(group));
  const std::array<void*, 1> bindings = {nullptr};
  std::vector<double> times;
  const std::int64_t begin_ns = clock.now_ns();
  for (int run = 0; run <= kMaxRuns; ++run) {
    const std::int64_t start_ns = clock.now_ns();
    if (run > kFewestRuns && start_ns - begin_ns > kEnoughNs) break;
    SLUICE_TRY(stream.submit(list, bindings));
    SLUICE_TRY(stream.wait());
    // The first run touches memory for the first time.
    if (run > 0) times.push_back(static_cast<double>(clock.now_ns() - start_ns));
  }
  return median(std::move(times));
}

bool is_simulated(const backend::Backend& backend) { return backend.devices()[0].is_simulated; }

std::vector<std::span<const std::byte>> views_of(const std::vector<Bytes>& packed) {
  std::vector<std::span<const std::byte>> views;
  for (const Bytes& bytes : packed) views.push_back(bytes.view());
  return views;
}

bool has_kernel(const ir::Operation& operation) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  return schema == nullptr || !(schema->needs_no_kernel() || schema->has(ops::kControlFlow) ||
                                schema->has(ops::kDataDependentShape));
}

bool has_known_sizes(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const auto is_known = [&](ir::OperandId id) {
    return !id.is_valid() || ir::run_bytes(subgraph.operand(id).type).has_value();
  };
  return std::ranges::all_of(operation.inputs, is_known) &&
         std::ranges::all_of(operation.outputs, is_known);
}

}  // namespace

Result<OperationTimer> OperationTimer::create(std::shared_ptr<const backend::Backend> backend,
                                              int num_cores) {
  const int available = backend->devices()[0].num_cores;
  std::vector<std::int32_t> cores(
      static_cast<std::size_t>(std::clamp(num_cores, 1, std::max(available, 1))));
  std::iota(cores.begin(), cores.end(), 0);
  auto group = SLUICE_TRY(backend::Group::create(backend, 0, cores));
  return OperationTimer(std::move(backend), std::move(group));
}

Result<std::optional<double>> OperationTimer::time_ns(const ir::Graph& graph,
                                                      const ir::Subgraph& subgraph,
                                                      const ir::Operation& operation) const {
  const std::optional<double> none;
  if (!has_kernel(operation) || !has_known_sizes(subgraph, operation)) return none;
  auto plain = backend::Op::create({graph, subgraph, operation});
  if (!plain.is_ok()) return none;
  const auto support = SLUICE_TRY(backend_->query(*plain));
  if (!support.is_supported) return none;
  // A simulated device takes no real time; its cost model is the measurement.
  if (is_simulated(*backend_)) return std::optional(support.cost_ns);

  Operands memory(group_);
  const auto inputs = memory.make(subgraph, operation.reads());
  const auto outputs = memory.make(subgraph, operation.outputs);
  if (!inputs.is_ok() || !outputs.is_ok()) return none;
  const auto packed = SLUICE_TRY(pack_constants(*backend_, *plain));
  auto op =
      SLUICE_TRY(backend::Op::create({graph, subgraph, operation, nullptr, views_of(packed)}));
  auto kernel = SLUICE_TRY(backend::Kernel::create(backend_, group_->device(), std::move(op)));
  auto list = SLUICE_TRY(backend::CommandList::create(group_));
  SLUICE_TRY(list.add_kernel(std::move(kernel), *inputs, *outputs));
  SLUICE_TRY(list.finish());
  SLUICE_TRY(memory.upload());
  return std::optional(SLUICE_TRY(median_of_runs(group_, list)));
}

Result<OperatorProfile> measure_operators(
    const ir::Graph& graph, std::span<const std::shared_ptr<const backend::Backend>> backends,
    int num_cores) {
  OperatorProfile profile;
  for (const auto& backend : backends) {
    const auto timer = SLUICE_TRY(OperationTimer::create(backend, num_cores));
    DeviceProfile& device = profile.devices[device_key(*backend, num_cores)];
    const HandOver hand_over = SLUICE_TRY(measure_hand_over(backend, num_cores));
    device.to_device = hand_over.to_device;
    device.from_device = hand_over.from_device;
    device.between_devices = hand_over.between_devices;
    device.launch_ns = hand_over.launch_ns;
    for (const ir::OperationId id : graph.main().order()) {
      const ir::Operation& operation = graph.main().operation(id);
      const auto op = backend::Op::create({graph, graph.main(), operation});
      // Equal operations of equal shapes are measured once.
      if (!op.is_ok() || device.times_ns.contains(key_of(op->get()))) continue;
      const auto time = SLUICE_TRY(
          timer.time_ns(graph, graph.main(), operation).with_context(operation.describe()));
      if (!time) continue;
      // A measured time has the launch of its list; an estimate is of the kernel alone.
      const double launch_ns = is_simulated(*backend) ? device.launch_ns : 0;
      device.times_ns[key_of(op->get())] = *time + launch_ns;
    }
  }
  return profile;
}

}  // namespace sluice::compile

// A graph of cuDNN is y = relu(conv(x, w) + addend + bias), without the parts that an operation
// lacks. Its tensors lie as ours do, row by row; engines for matrix units turn them around inside.

#include "plugin/libraries/convolution_call.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <optional>

namespace sluice::cuda {
namespace {

using Dims = std::vector<std::int64_t>;
using enum DnnAttribute;
using Value = DnnAttributeType;

// Engines for matrix units keep images of 16-bit floats turned around there: that of a first layer
// of ResNet-50 for 32 pictures has 80 MB.
constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMaxConfigs = 64;

// What networks have. A library is not asked for more, in case its arithmetic has less room.
constexpr std::int64_t kMaxStep = 1024;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

/// Numbers of the tensors of a graph.
enum Id : std::int64_t { kX = 1, kW, kY, kBias, kAddend, kFirstVirtual };

struct Convolution {
  DnnType type = DnnType::kF32;
  Dims x, w, y;
  Dims strides, dilations, pads_before, pads_after;  // by spatial axis
};

std::optional<DnnType> type_of(sluice_element_type type) {
  switch (type) {
    case plugin::kF32: return DnnType::kF32;
    case plugin::kF16: return DnnType::kF16;
    case plugin::kBf16: return DnnType::kBf16;
    default: return std::nullopt;
  }
}

/// The dimensions of a tensor; an image of one axis becomes one of two.
Dims read_dims(const sluice_tensor& tensor) {
  const auto given = plugin::dims_of(tensor);
  if (given.size() == 3) return {given[0], given[1], 1, given[2]};
  return {given.begin(), given.end()};
}

/// Values of an attribute by spatial axis.
Dims read_axes(std::span<const std::int64_t> values, std::size_t begin, std::size_t rank,
               std::int64_t usual) {
  const std::size_t num_added = rank == 1 ? 1 : 0;
  Dims axes(num_added + rank, usual);
  for (std::size_t i = 0; i < rank && begin + i < values.size(); ++i) {
    axes[num_added + i] = values[begin + i];
  }
  return axes;
}

/// Whether every window meets the image, and sizes are what networks have.
bool is_usual(const Convolution& from) {
  for (std::size_t i = 0; i < from.strides.size(); ++i) {
    const std::int64_t window = from.w[i + 2];
    const auto [smallest, largest] = std::minmax({from.strides[i], from.dilations[i], window});
    if (smallest < 1 || largest > kMaxStep) return false;
    const auto [less, more] = std::minmax({from.pads_before[i], from.pads_after[i]});
    if (less < 0 || more > from.dilations[i] * (window - 1)) return false;
  }
  return std::ranges::all_of(std::array{&from.x, &from.w, &from.y}, [](const Dims* dims) {
    const std::int64_t count = plugin::num_elements(*dims);
    return count >= 1 && count < kMaxElements;
  });
}

std::optional<Convolution> read_convolution(const sluice_op& op) {
  const sluice_tensor& output = op.outputs[0].tensor;
  const std::optional<DnnType> type = type_of(output.element_type);
  const bool is_of_one_type =
      std::ranges::all_of(plugin::inputs_of(op), [&](const sluice_operand& input) {
        return plugin::is_absent(input.tensor) || input.tensor.element_type == output.element_type;
      });
  if (!type || !is_of_one_type || output.rank < 3 || output.rank > 5) return std::nullopt;
  const plugin::Attributes attributes(op);
  const auto rank = static_cast<std::size_t>(output.rank) - 2;
  const auto pads = attributes.get_ints("pads");
  Convolution made;
  made.type = *type;
  made.x = read_dims(op.inputs[0].tensor);
  made.w = read_dims(op.inputs[1].tensor);
  made.y = read_dims(output);
  made.strides = read_axes(attributes.get_ints("strides"), 0, rank, 1);
  made.dilations = read_axes(attributes.get_ints("dilations"), 0, rank, 1);
  made.pads_before = read_axes(pads, 0, rank, 0);
  made.pads_after = read_axes(pads, rank, rank, 0);
  return is_usual(made) ? std::optional(made) : std::nullopt;
}

/// Descriptors in the order in which they were made; they end in the opposite order.
class Parts {
 public:
  explicit Parts(const Cudnn& table) : table_(table) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    while (!parts_.empty()) parts_.pop_back();
  }

  DnnObject& add(DnnKind kind) { return parts_.emplace_back(table_, kind); }
  DnnObject& keep(DnnObject part) { return parts_.emplace_back(std::move(part)); }
  /// The first failure.
  Status status() const {
    for (const DnnObject& part : parts_) {
      if (!part.status().is_ok()) return part.status();
    }
    return plugin::ok();
  }

 private:
  const Cudnn& table_;
  std::deque<DnnObject> parts_;
};

/// Makes the graph of a convolution.
class GraphMaker {
 public:
  GraphMaker(const DnnDevice& device, const Convolution& convolution, Parts* parts)
      : device_(device), convolution_(convolution), parts_(*parts) {}

  DnnObject& make(const Epilogue& epilogue) {
    num_left_ =
        (epilogue.addend >= 0 ? 1 : 0) + (epilogue.bias >= 0 ? 1 : 0) + (epilogue.has_relu ? 1 : 0);
    const DnnObject* y = &add_result();
    add_forward(*y);
    if (epilogue.addend >= 0) y = &add_sum(*y, add_tensor(kAddend, convolution_.y));
    if (epilogue.bias >= 0) {
      Dims dims(convolution_.y.size(), 1);
      dims[1] = convolution_.y[1];
      y = &add_sum(*y, add_tensor(kBias, dims));
    }
    if (epilogue.has_relu) add_pointwise(DnnPointwise::kRelu, *y, nullptr, add_result());
    DnnObject& graph = parts_.add(DnnKind::kGraph);
    if (device_.handle != nullptr) graph.set(kGraphHandle, Value::kHandle, device_.handle);
    return graph
        .set_all(kGraphOperations, Value::kDescriptor, std::span<const DnnDescriptor>(operations_))
        .finalize("making a graph");
  }

 private:
  /// What an operation writes: y by the last one, else numbers of f32 that lie in no memory.
  const DnnObject& add_result() {
    const bool is_last = num_left_-- == 0;
    return is_last ? add_tensor(kY, convolution_.y)
                   : add_tensor(kFirstVirtual + num_left_, convolution_.y, true);
  }

  const DnnObject& add_tensor(std::int64_t id, const Dims& dims, bool is_virtual = false) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    DnnObject& tensor = parts_.add(DnnKind::kTensor);
    tensor.set(kTensorType, Value::kDataType, is_virtual ? DnnType::kF32 : convolution_.type)
        .set_all(kTensorDims, Value::kInt64, std::span<const std::int64_t>(dims))
        .set_all(kTensorStrides, Value::kInt64, std::span<const std::int64_t>(strides))
        .set(kTensorId, Value::kInt64, id)
        .set(kTensorAlignment, Value::kInt64, std::int64_t{SLUICE_ALIGNMENT});
    if (is_virtual) tensor.set(kTensorIsVirtual, Value::kBoolean, true);
    return tensor.finalize("describing a tensor");
  }

  void add_forward(const DnnObject& y) {
    const Convolution& from = convolution_;
    const auto axes = [](const Dims& values) { return std::span<const std::int64_t>(values); };
    DnnObject& convolution = parts_.add(DnnKind::kConvolution);
    convolution
        .set(kConvolutionSpatialDims, Value::kInt64, static_cast<std::int64_t>(from.strides.size()))
        .set(kConvolutionPrecision, Value::kDataType, DnnType::kF32)
        .set(kConvolutionMode, Value::kConvolutionMode, DnnConvolution::kCrossCorrelation)
        .set_all(kConvolutionStrides, Value::kInt64, axes(from.strides))
        .set_all(kConvolutionDilations, Value::kInt64, axes(from.dilations))
        .set_all(kConvolutionPrePaddings, Value::kInt64, axes(from.pads_before))
        .set_all(kConvolutionPostPaddings, Value::kInt64, axes(from.pads_after))
        .finalize("describing a convolution");
    const DnnObject& x = add_tensor(kX, from.x);
    const DnnObject& w = add_tensor(kW, from.w);
    DnnObject& forward = parts_.add(DnnKind::kConvolutionForward);
    forward.set(kForwardConvolution, convolution)
        .set(kForwardX, x)
        .set(kForwardW, w)
        .set(kForwardY, y)
        .set(kForwardAlpha, Value::kFloat, 1.0F)
        .set(kForwardBeta, Value::kFloat, 0.0F)
        .finalize("making a convolution");
    operations_.push_back(forward.get());
  }

  const DnnObject& add_sum(const DnnObject& x, const DnnObject& other) {
    const DnnObject& y = add_result();
    add_pointwise(DnnPointwise::kAdd, x, &other, y);
    return y;
  }

  void add_pointwise(DnnPointwise mode, const DnnObject& x, const DnnObject* b,
                     const DnnObject& y) {
    DnnObject& pointwise = parts_.add(DnnKind::kPointwise);
    pointwise.set(kPointwiseMode, Value::kPointwiseMode, mode)
        .set(kPointwisePrecision, Value::kDataType, DnnType::kF32)
        .finalize("describing a sum");
    DnnObject& operation = parts_.add(DnnKind::kPointwiseOperation);
    operation.set(kPointwiseDescriptor, pointwise).set(kPointwiseX, x).set(kPointwiseY, y);
    if (b != nullptr) operation.set(kPointwiseB, *b);
    operation.finalize("making a sum");
    operations_.push_back(operation.get());
  }

  const DnnDevice& device_;
  const Convolution& convolution_;
  Parts& parts_;
  int num_left_ = 0;  // operations behind the convolution that are not made yet
  std::vector<DnnDescriptor> operations_;
};

/// Chooses an engine for a graph.
class Planner {
 public:
  Planner(const DnnDevice& device, bool rounds, Parts* parts)
      : device_(device), rounds_(rounds), parts_(*parts) {}

  /// The plan of the first engine that fits; null if there is none.
  const DnnObject* choose(const DnnObject& graph, std::int64_t* workspace_bytes) {
    for (const DnnHeuristic mode : {DnnHeuristic::kEstimate, DnnHeuristic::kFallback}) {
      DnnObject heuristic(dnn(), DnnKind::kHeuristic);
      heuristic.set(kHeuristicGraph, graph).set(kHeuristicMode, Value::kHeuristicMode, mode);
      if (device_.properties != nullptr) {
        heuristic.set(kHeuristicDevice, Value::kDescriptor, device_.properties);
      }
      heuristic.finalize("asking for engines");
      std::int64_t count = 0;
      if (!get(heuristic, kHeuristicResults, Value::kDescriptor, 0, &count, nullptr)) continue;
      std::vector<DnnObject> configs;
      std::vector<DnnDescriptor> handles;
      for (std::int64_t i = 0; i < std::min(count, kMaxConfigs); ++i) {
        handles.push_back(configs.emplace_back(dnn(), DnnKind::kEngineConfig).get());
      }
      const auto capacity = static_cast<std::int64_t>(handles.size());
      if (!get(heuristic, kHeuristicResults, Value::kDescriptor, capacity, &count,
               handles.data())) {
        continue;
      }
      for (std::int64_t i = 0; i < std::min(count, capacity); ++i) {
        DnnObject& config = configs[static_cast<std::size_t>(i)];
        if (!is_fit(config)) continue;
        if (const DnnObject* plan = finish(config, workspace_bytes); plan != nullptr) return plan;
      }
    }
    return nullptr;
  }

 private:
  const Cudnn& dnn() const { return *device_.table; }

  bool get(const DnnObject& from, DnnAttribute name, Value type, std::int64_t capacity,
           std::int64_t* count, void* values) const {
    return from.status().is_ok() && dnn().descriptor_get(from.get(), name, type, capacity, count,
                                                         values) == DnnStatus::kSuccess;
  }

  /// Whether the engine computes what a convolution is, each time the same.
  bool is_fit(const DnnObject& config) const {
    DnnObject engine(dnn(), DnnKind::kEngine);
    DnnDescriptor handle = engine.get();
    std::int64_t count = 0;
    if (!get(config, kEngineConfigEngine, Value::kDescriptor, 1, &count, &handle)) return false;
    std::array<DnnNumericalNote, static_cast<std::size_t>(DnnNumericalNote::kCount)> notes = {};
    const auto num_notes = static_cast<std::int64_t>(notes.size());
    if (!get(engine, kEngineNumericalNotes, Value::kNumericalNote, num_notes, &count,
             notes.data())) {
      return false;
    }
    for (std::int64_t i = 0; i < std::min(count, num_notes); ++i) {
      const DnnNumericalNote note = notes[static_cast<std::size_t>(i)];
      if (note == DnnNumericalNote::kStrictNan) continue;
      if (note != DnnNumericalNote::kTensorCore || !rounds_) return false;
    }
    // What a library compiles at run time is made for images that lie by pixels.
    std::array<DnnBehaviorNote, static_cast<std::size_t>(DnnBehaviorNote::kCount)> manners = {};
    const auto num_manners = static_cast<std::int64_t>(manners.size());
    return get(engine, kEngineBehaviorNotes, Value::kBehaviorNote, num_manners, &count,
               manners.data()) &&
           std::none_of(manners.begin(), manners.begin() + std::min(count, num_manners),
                        [](auto note) { return note == DnnBehaviorNote::kRuntimeCompilation; });
  }

  /// Keeps the plan and the configuration, which it may read later.
  const DnnObject* finish(DnnObject& config, std::int64_t* workspace_bytes) {
    DnnObject plan(dnn(), DnnKind::kPlan);
    plan.set(kPlanEngineConfig, config);
    if (device_.handle != nullptr) {
      plan.set(kPlanHandle, Value::kHandle, device_.handle);
    } else {
      plan.set(kPlanDevice, Value::kDescriptor, device_.properties);
    }
    plan.finalize("making a plan");
    std::int64_t count = 0;
    if (!get(plan, kPlanWorkspaceBytes, Value::kInt64, 1, &count, workspace_bytes) ||
        *workspace_bytes > kMaxWorkspaceBytes) {
      return nullptr;
    }
    parts_.keep(std::move(config));
    return &parts_.keep(std::move(plan));
  }

  const DnnDevice& device_;
  const bool rounds_;
  Parts& parts_;
};

class ConvolutionCall : public LibraryCall {
 public:
  ConvolutionCall(const DnnDevice& device, const Epilogue& epilogue)
      : dnn_(*device.table), epilogue_(epilogue), parts_(dnn_) {}

  Status plan(const DnnDevice& device, const Convolution& convolution) {
    const DnnObject& graph = GraphMaker(device, convolution, &parts_).make(epilogue_);
    if (Status status = parts_.status(); !status.is_ok()) return status;
    const bool rounds = device.rounds_to_tf32 || convolution.type != DnnType::kF32;
    plan_ = Planner(device, rounds, &parts_).choose(graph, &workspace_bytes_);
    if (plan_ != nullptr) return plugin::ok();
    return plugin::unimplemented(library() + " has no engine for this convolution");
  }

  LibraryNeeds needs() const override { return {static_cast<std::size_t>(workspace_bytes_), true}; }

  Status run(const LibraryRun& run) const override {
    std::vector<std::int64_t> ids = {kX, kW, kY};
    std::vector<void*> addresses = {run.inputs[0], run.inputs[1], run.output};
    const auto add = [&](Id id, int operand) {
      if (operand < 0) return;
      ids.push_back(id);
      addresses.push_back(run.inputs[static_cast<std::size_t>(operand)]);
    };
    add(kBias, epilogue_.bias);
    add(kAddend, epilogue_.addend);
    DnnObject pack(dnn_, DnnKind::kVariantPack);
    pack.set_all(kPackIds, Value::kInt64, std::span<const std::int64_t>(ids))
        .set_all(kPackPointers, Value::kVoidPointer, std::span<void* const>(addresses))
        .set(kPackWorkspace, Value::kVoidPointer, reinterpret_cast<void*>(run.scratch->workspace))
        .finalize("naming the tensors of a convolution");
    if (!pack.status().is_ok()) return pack.status();
    const std::lock_guard lock(mutex_);
    return check(dnn_, dnn_.execute(run.scratch->cudnn, plan_->get(), pack.get()),
                 "starting a convolution");
  }

  std::string library() const override { return name_of(dnn_); }

 private:
  const Cudnn& dnn_;
  const Epilogue epilogue_;
  Parts parts_;
  const DnnObject* plan_ = nullptr;  // one of parts_
  std::int64_t workspace_bytes_ = 0;
  mutable std::mutex mutex_;  // cuDNN does not promise that threads may share a plan
};

}  // namespace

Status plan_convolution(const DnnDevice& device, const sluice_op& op, Epilogue* epilogue,
                        std::unique_ptr<const LibraryCall>* call) {
  const std::optional<Convolution> convolution = read_convolution(op);
  if (!convolution) return plugin::unimplemented("no library has such a convolution");
  Epilogue own;
  if (op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor)) own.bias = 2;
  Status status;
  for (const Epilogue& tried : {match_epilogue(op, 1, own, {.addend = true, .relu = true}),
                                match_epilogue(op, 1, own, {.addend = false, .relu = true}), own}) {
    auto made = std::make_unique<ConvolutionCall>(device, tried);
    status = made->plan(device, *convolution);
    if (!status.is_ok()) continue;
    *epilogue = tried;
    *call = std::move(made);
    break;
  }
  return status;
}

}  // namespace sluice::cuda

// Attributes are kept as bytes. Their types and the order of calls are checked as cuDNN checks
// them: a descriptor is used when it is finalized, and changed before.
#include "plugin/libraries/testing/fake_cudnn.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "plugin/libraries/testing/numbers.h"

// NOLINTBEGIN(readability-identifier-naming): the names of cuDNN

namespace sluice::cuda {

struct DnnHandleObject {
  CuStream stream = nullptr;
};

namespace {

constexpr auto kBadParameter = static_cast<DnnStatus>(2000);
constexpr auto kNotSupported = static_cast<DnnStatus>(3000);
constexpr std::int64_t kWorkspaceBytes = 1000;

testing::FakeCudnn fake;

struct Object {
  DnnKind kind = {};
  bool is_final = false;
  std::map<DnnAttribute, std::vector<std::byte>> values = {};
  std::int64_t engine = 0;        // of engines and their configurations
  const Object* graph = nullptr;  // of engines and their configurations

  template <typename T>
  std::vector<T> all(DnnAttribute name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    // NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers
    std::vector<T> result(found->second.size() / sizeof(T));
    std::memcpy(result.data(), found->second.data(), found->second.size());
    return result;
  }
  template <typename T>
  T one(DnnAttribute name) const {
    return all<T>(name).at(0);
  }
  const Object& object(DnnAttribute name) const { return *one<const Object*>(name); }
};

std::size_t size_of(DnnAttributeType type) {
  switch (type) {
    case DnnAttributeType::kBoolean:
    case DnnAttributeType::kChar: return 1;
    case DnnAttributeType::kHandle:
    case DnnAttributeType::kInt64:
    case DnnAttributeType::kVoidPointer:
    case DnnAttributeType::kDescriptor: return 8;
    default: return 4;
  }
}

/// Names and addresses of the tensors of one run.
using Memory = std::map<std::int64_t, void*>;
/// Elements of a tensor, row by row.
using Values = std::vector<float>;

sluice_element_type type_of(const Object& tensor) {
  switch (tensor.one<DnnType>(DnnAttribute::kTensorType)) {
    case DnnType::kF16: return plugin::kF16;
    case DnnType::kBf16: return plugin::kBf16;
    default: return plugin::kF32;
  }
}

std::vector<std::int64_t> dims_of(const Object& tensor) {
  return tensor.all<std::int64_t>(DnnAttribute::kTensorDims);
}
std::int64_t count_of(const Object& tensor) { return plugin::num_elements(dims_of(tensor)); }

bool is_packed(const Object& tensor) {
  const auto dims = dims_of(tensor);
  const auto strides = tensor.all<std::int64_t>(DnnAttribute::kTensorStrides);
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
    if (strides.at(i) != stride) return false;
  }
  return true;
}

class Run {
 public:
  Run(const Memory& memory, CuStream stream) : memory_(memory), stream_(stream) {}

  void compute(const Object& operation) {
    if (operation.kind == DnnKind::kConvolutionForward) {
      convolve(operation);
      return;
    }
    using enum DnnAttribute;
    const Values x = read(operation.object(kPointwiseX));
    const Object& y = operation.object(kPointwiseY);
    const bool adds = operation.object(kPointwiseDescriptor).one<DnnPointwise>(kPointwiseMode) ==
                      DnnPointwise::kAdd;
    Values results(x.size());
    const Values b = adds ? read(operation.object(kPointwiseB)) : Values();
    const auto dims = dims_of(y);
    const auto inner = static_cast<std::size_t>(plugin::num_elements(std::span(dims).subspan(2)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      // A vector of the channels, or a tensor of all elements.
      const std::size_t at =
          b.size() == x.size() ? i : i / inner % std::max<std::size_t>(b.size(), 1);
      results[i] = adds ? x[i] + b[at] : std::max(x[i], 0.0F);
    }
    write(y, results);
  }

 private:
  Values read(const Object& tensor) {
    const auto id = tensor.one<std::int64_t>(DnnAttribute::kTensorId);
    if (const auto found = virtual_.find(id); found != virtual_.end()) return found->second;
    const sluice_element_type type = type_of(tensor);
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(count_of(tensor) * plugin::element_bits(type) / 8));
    fake.driver->memcpy_dtoh_async(bytes.data(), address(id), bytes.size(), stream_);
    fake.driver->stream_synchronize(stream_);
    return testing::decode(type, bytes);
  }
  void write(const Object& tensor, const Values& values) {
    const auto id = tensor.one<std::int64_t>(DnnAttribute::kTensorId);
    if (!tensor.all<char>(DnnAttribute::kTensorIsVirtual).empty()) {
      virtual_[id] = values;
      return;
    }
    const std::vector<std::byte> bytes = testing::encode(type_of(tensor), values);
    fake.driver->memcpy_htod_async(address(id), bytes.data(), bytes.size(), stream_);
    fake.driver->stream_synchronize(stream_);
  }
  CuDevicePointer address(std::int64_t id) const {
    return reinterpret_cast<CuDevicePointer>(memory_.at(id));
  }

  /// Convolves images of two axes.
  void convolve(const Object& operation) {
    using enum DnnAttribute;
    const Object& how = operation.object(kForwardConvolution);
    const auto strides = how.all<std::int64_t>(kConvolutionStrides);
    const auto dilations = how.all<std::int64_t>(kConvolutionDilations);
    const auto pads = how.all<std::int64_t>(kConvolutionPrePaddings);
    const Values x = read(operation.object(kForwardX));
    const Values w = read(operation.object(kForwardW));
    const auto xs = dims_of(operation.object(kForwardX));
    const auto ws = dims_of(operation.object(kForwardW));
    const auto ys = dims_of(operation.object(kForwardY));
    const std::int64_t per_group = ws[0] / (xs[1] / ws[1]);
    Values results(static_cast<std::size_t>(plugin::num_elements(ys)));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(results.size()); ++i) {
      const std::int64_t column = i % ys[3];
      const std::int64_t row = i / ys[3] % ys[2];
      const std::int64_t m = i / ys[3] / ys[2] % ys[1];
      const std::int64_t n = i / ys[3] / ys[2] / ys[1];
      float sum = 0;
      for (std::int64_t j = 0; j < ws[1] * ws[2] * ws[3]; ++j) {
        const std::int64_t c = j / ws[3] / ws[2];
        const std::int64_t r = row * strides[0] + j / ws[3] % ws[2] * dilations[0] - pads[0];
        const std::int64_t s = column * strides[1] + j % ws[3] * dilations[1] - pads[1];
        if (r < 0 || s < 0 || r >= xs[2] || s >= xs[3]) continue;
        const std::int64_t channel = m / per_group * ws[1] + c;
        sum += x.at(static_cast<std::size_t>(((n * xs[1] + channel) * xs[2] + r) * xs[3] + s)) *
               w.at(static_cast<std::size_t>(m * ws[1] * ws[2] * ws[3] + j));
      }
      results[static_cast<std::size_t>(i)] = sum;
    }
    write(operation.object(kForwardY), results);
  }

  const Memory& memory_;
  const CuStream stream_;
  std::map<std::int64_t, Values> virtual_;
};

DnnStatus get_results(const Object& heuristic, std::int64_t capacity, std::int64_t* count,
                      void* values) {
  const Object& graph = heuristic.object(DnnAttribute::kHeuristicGraph);
  const auto operations = graph.all<Object*>(DnnAttribute::kGraphOperations);
  *count = operations.size() <= fake.max_operations ? 2 : 0;
  for (std::int64_t i = 0; i < std::min(capacity, *count); ++i) {
    Object& config = *static_cast<Object**>(values)[i];
    config.is_final = true;
    config.engine = i;
    config.graph = &graph;
  }
  return DnnStatus::kSuccess;
}

}  // namespace
}  // namespace sluice::cuda

using namespace sluice::cuda;  // NOLINT(google-build-using-namespace)

extern "C" {

testing::FakeCudnn* sluice_fake_cudnn() { return &fake; }

std::size_t cudnnGetVersion() { return fake.version; }
const char* cudnnGetErrorString(DnnStatus /*status*/) { return "a made-up failure"; }
void cudnnGetLastErrorString(char* text, std::size_t capacity) {
  std::strncpy(text, "a made-up reason", capacity);
}
DnnStatus cudnnCreate(DnnHandle* handle) {
  *handle = new DnnHandleObject;
  ++fake.num_handles;
  return DnnStatus::kSuccess;
}
DnnStatus cudnnDestroy(DnnHandle handle) {
  delete handle;
  --fake.num_handles;
  return DnnStatus::kSuccess;
}
DnnStatus cudnnSetStream(DnnHandle handle, CuStream stream) {
  handle->stream = stream;
  return DnnStatus::kSuccess;
}

DnnStatus cudnnBackendCreateDescriptor(DnnKind kind, DnnDescriptor* descriptor) {
  *descriptor = new Object{kind};
  ++fake.num_descriptors;
  return DnnStatus::kSuccess;
}
DnnStatus cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  delete static_cast<Object*>(descriptor);
  --fake.num_descriptors;
  return DnnStatus::kSuccess;
}
DnnStatus cudnnBackendFinalize(DnnDescriptor descriptor) {
  auto& object = *static_cast<Object*>(descriptor);
  if (object.is_final) return kBadParameter;
  if (object.kind == DnnKind::kTensor && !is_packed(object)) return kNotSupported;
  object.is_final = true;
  return DnnStatus::kSuccess;
}

DnnStatus cudnnBackendSetAttribute(DnnDescriptor descriptor, DnnAttribute name,
                                   DnnAttributeType type, std::int64_t count, const void* values) {
  auto& object = *static_cast<Object*>(descriptor);
  if (object.is_final || count < 1) return kBadParameter;
  if (type == DnnAttributeType::kDescriptor) {
    const std::span<Object* const> others(static_cast<Object* const*>(values),
                                          static_cast<std::size_t>(count));
    if (!std::ranges::all_of(others, &Object::is_final)) return kBadParameter;
  }
  const auto* const bytes = static_cast<const std::byte*>(values);
  object.values[name] = {bytes, bytes + static_cast<std::size_t>(count) * size_of(type)};
  return DnnStatus::kSuccess;
}

DnnStatus cudnnBackendGetAttribute(DnnDescriptor descriptor, DnnAttribute name,
                                   DnnAttributeType /*type*/, std::int64_t capacity,
                                   std::int64_t* count, void* values) {
  const auto& object = *static_cast<const Object*>(descriptor);
  if (!object.is_final) return kBadParameter;
  *count = 1;
  switch (name) {
    case DnnAttribute::kHeuristicResults: return get_results(object, capacity, count, values);
    case DnnAttribute::kEngineConfigEngine:
      **static_cast<Object**>(values) = object;
      return DnnStatus::kSuccess;
    case DnnAttribute::kEngineNumericalNotes: {
      const auto notes = object.engine == 0 ? fake.notes : std::vector<DnnNumericalNote>();
      *count = static_cast<std::int64_t>(notes.size());
      std::ranges::copy(notes, static_cast<DnnNumericalNote*>(values));
      return DnnStatus::kSuccess;
    }
    case DnnAttribute::kEngineBehaviorNotes: *count = 0; return DnnStatus::kSuccess;
    case DnnAttribute::kPlanWorkspaceBytes:
      *static_cast<std::int64_t*>(values) = kWorkspaceBytes;
      return DnnStatus::kSuccess;
    default: return kBadParameter;
  }
}

DnnStatus cudnnBackendExecute(DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack) {
  if (fake.execute != DnnStatus::kSuccess) return fake.execute;
  using enum DnnAttribute;
  const auto& given = *static_cast<const Object*>(pack);
  const Object& config = static_cast<const Object*>(plan)->object(kPlanEngineConfig);
  if (!given.is_final || given.one<void*>(kPackWorkspace) == nullptr) return kBadParameter;
  const auto ids = given.all<std::int64_t>(kPackIds);
  const auto addresses = given.all<void*>(kPackPointers);
  Memory memory;
  for (std::size_t i = 0; i < ids.size(); ++i) memory[ids[i]] = addresses.at(i);
  Run run(memory, handle->stream);
  for (const Object* operation : config.graph->all<const Object*>(kGraphOperations)) {
    run.compute(*operation);
  }
  ++fake.num_runs;
  fake.engine = config.engine;
  return DnnStatus::kSuccess;
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

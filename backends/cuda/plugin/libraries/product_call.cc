// Tensors lie row by row, and cuBLASLt takes matrices that lie column by column. The memory of a
// row-major [m, n] is that of a column-major [n, m], so y = a * b is asked for as y' = b' * a':
// cuBLASLt's matrix A is b, its B is a, and its rows are the n of the product.

#include "plugin/libraries/product_call.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>

#include "plugin/libraries/matrix_product.h"

namespace sluice::cuda {
namespace {

// More than the algorithms for GPUs of today ask for.
constexpr std::size_t kMaxWorkspaceBytes = std::size_t{32} << 20;

template <typename Handle>
struct Ender {
  LtStatus (*destroy)(Handle) = nullptr;
  void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Ender<Handle>>;

struct Scaling {
  float alpha = 1;
  float beta = 0;  ///< of the addend
};

std::optional<LtType> type_of(sluice_element_type type) {
  switch (type) {
    case plugin::kF32: return LtType::kF32;
    case plugin::kF16: return LtType::kF16;
    case plugin::kBf16: return LtType::kBf16;
    default: return std::nullopt;
  }
}

class ProductCall : public LibraryCall {
 public:
  ProductCall(const LtDevice& device, const MatrixProduct& product, LtType type,
              const Epilogue& epilogue, Scaling scaling)
      : device_(device), product_(product), type_(type), epilogue_(epilogue), scaling_(scaling) {}

  /// Makes the descriptors and asks for the algorithm of the whole device.
  Status plan() {
    const auto& [m, n, k] = std::tie(product_.m, product_.n, product_.k);
    const auto square = [&](std::int64_t rows, std::int64_t columns, bool turns) {
      return turns ? std::pair(columns, rows) : std::pair(rows, columns);
    };
    Status status = make_layout(square(n, k, product_.turns_b), product_.b_stride, &first_);
    if (status.is_ok()) {
      status = make_layout(square(k, m, product_.turns_a), product_.a_stride, &second_);
    }
    if (status.is_ok()) status = make_layout({n, m}, n * m, &result_);
    return status.is_ok() ? choose(0, kMaxWorkspaceBytes, &whole_device_) : status;
  }

  LibraryNeeds needs() const override { return {whole_device_.workspace_bytes, false}; }

  Status run(const LibraryRun& run) const override {
    LtAlgorithm algorithm = whole_device_.algorithm;
    Status status = run.multiprocessors > 0 ? find(run.multiprocessors, &algorithm) : plugin::ok();
    const void* const bias = epilogue_.bias < 0 ? nullptr : input(run, epilogue_.bias);
    Owned<LtMatmul> matmul;
    if (status.is_ok()) status = describe(run.multiprocessors, bias, &matmul);
    if (!status.is_ok()) return status;
    const void* const addend = epilogue_.addend < 0 ? run.output : input(run, epilogue_.addend);
    return checked(
        lt().matmul(device_.handle, matmul.get(), &scaling_.alpha, input(run, 1), first_.get(),
                    input(run, 0), second_.get(), &scaling_.beta, addend, result_.get(), run.output,
                    result_.get(), &algorithm, reinterpret_cast<void*>(run.scratch->workspace),
                    run.scratch->workspace_bytes, run.stream),
        "starting a product");
  }

  std::string library() const override { return name_of(lt()); }

 private:
  const CublasLt& lt() const { return *device_.table; }
  Status checked(LtStatus status, const char* what) const { return check(lt(), status, what); }
  static const void* input(const LibraryRun& run, int number) {
    return run.inputs[static_cast<std::size_t>(number)];
  }

  Status make_layout(std::pair<std::int64_t, std::int64_t> size, std::int64_t stride,
                     Owned<LtLayout>* layout) const {
    LtLayout made = nullptr;
    LtStatus status = lt().layout_create(&made, type_, static_cast<std::uint64_t>(size.first),
                                         static_cast<std::uint64_t>(size.second), size.first);
    if (status == LtStatus::kSuccess) *layout = {made, {lt().layout_destroy}};
    if (status == LtStatus::kSuccess && product_.batch > 1) {
      const auto count = static_cast<std::int32_t>(product_.batch);
      using enum LtLayoutAttribute;
      status = lt().layout_set(made, kBatchCount, &count, sizeof(count));
      if (status == LtStatus::kSuccess) {
        status = lt().layout_set(made, kBatchStrideElements, &stride, sizeof(stride));
      }
    }
    return checked(status, "describing a matrix");
  }

  /// A description of its own for each run: the address of the bias stands in it.
  Status describe(int multiprocessors, const void* bias, Owned<LtMatmul>* matmul) const {
    const bool rounds = device_.rounds_to_tf32 && type_ == LtType::kF32;
    LtMatmul made = nullptr;
    LtStatus status =
        lt().matmul_create(&made, rounds ? LtCompute::kTf32 : LtCompute::kF32, LtType::kF32);
    if (status == LtStatus::kSuccess) *matmul = {made, {lt().matmul_destroy}};
    const auto set = [&](LtMatmulAttribute attribute, const auto& value) {
      if (status == LtStatus::kSuccess) {
        status = lt().matmul_set(made, attribute, &value, sizeof(value));
      }
    };
    using enum LtMatmulAttribute;
    if (product_.turns_b) set(kTransposeA, LtTranspose::kYes);
    if (product_.turns_a) set(kTransposeB, LtTranspose::kYes);
    if (multiprocessors > 0) set(kMultiprocessorTarget, std::int32_t{multiprocessors});
    if (bias != nullptr) {
      set(kEpilogue, LtEpilogue::kBias);
      set(kBiasPointer, bias);
    }
    return checked(status, "describing a product");
  }

  Status make_preference(std::size_t max_workspace_bytes, Owned<LtPreference>* preference) const {
    LtPreference made = nullptr;
    LtStatus status = lt().preference_create(&made);
    if (status == LtStatus::kSuccess) *preference = {made, {lt().preference_destroy}};
    const auto set = [&](LtPreferenceAttribute attribute, const auto& value) {
      if (status == LtStatus::kSuccess) {
        status = lt().preference_set(made, attribute, &value, sizeof(value));
      }
    };
    using enum LtPreferenceAttribute;
    set(LtPreferenceAttribute::kMaxWorkspaceBytes, std::uint64_t{max_workspace_bytes});
    set(kReductionSchemes, kLtReduceInComputeType);
    for (const auto attribute : {kMinAlignmentA, kMinAlignmentB, kMinAlignmentC, kMinAlignmentD}) {
      set(attribute, std::uint32_t{SLUICE_ALIGNMENT});
    }
    return checked(status, "describing what a product may use");
  }

  /// Asks for the best algorithm on so many multiprocessors; 0 stands for the whole device.
  Status choose(int multiprocessors, std::size_t max_workspace_bytes, LtHeuristic* found) const {
    // Only the alignment of the bias counts here; every tensor has this one.
    const auto* const bias =
        epilogue_.bias < 0 ? nullptr : reinterpret_cast<const void*>(SLUICE_ALIGNMENT);
    Owned<LtMatmul> matmul;
    Owned<LtPreference> preference;
    Status status = describe(multiprocessors, bias, &matmul);
    if (status.is_ok()) status = make_preference(max_workspace_bytes, &preference);
    if (!status.is_ok()) return status;
    int num_found = 0;
    const LtStatus result =
        lt().get_heuristic(device_.handle, matmul.get(), first_.get(), second_.get(), result_.get(),
                           result_.get(), preference.get(), 1, found, &num_found);
    if (result != LtStatus::kSuccess || num_found < 1 || found->status != LtStatus::kSuccess) {
      return plugin::unimplemented(library() + " has no algorithm for this product");
    }
    return plugin::ok();
  }

  /// As `choose`, once for each number. Works on the host alone, so a stream may be captured.
  Status find(int multiprocessors, LtAlgorithm* algorithm) const {
    const std::lock_guard lock(mutex_);
    const auto known = parts_.find(multiprocessors);
    if (known != parts_.end()) {
      *algorithm = known->second;
      return plugin::ok();
    }
    LtHeuristic found = {};
    // The stream has what the whole device's algorithm needs, and no more.
    Status status = choose(multiprocessors, whole_device_.workspace_bytes, &found);
    *algorithm = found.algorithm;
    if (status.is_ok()) parts_.emplace(multiprocessors, *algorithm);
    return status;
  }

  const LtDevice& device_;
  const MatrixProduct product_;
  const LtType type_;
  const Epilogue epilogue_;
  const Scaling scaling_;
  Owned<LtLayout> first_;   // cuBLASLt's A
  Owned<LtLayout> second_;  // its B
  Owned<LtLayout> result_;
  LtHeuristic whole_device_ = {};
  mutable std::mutex mutex_;
  mutable std::map<int, LtAlgorithm> parts_;  // by number of multiprocessors; guarded by mutex_
};

/// Gemm's factors and third input. False where the third input is stretched in a way that no
/// library has.
bool read_scaling(const sluice_op& op, Scaling* scaling, Epilogue* own) {
  if (std::string_view(op.kind) != "Gemm") return true;
  const plugin::Attributes attributes(op);
  scaling->alpha = attributes.get_float("alpha", 1);
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return true;
  const auto c = plugin::dims_of(op.inputs[2].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  const float beta = attributes.get_float("beta", 1);
  if (std::ranges::equal(c, y)) {
    own->addend = 2;
    scaling->beta = beta;
    return true;
  }
  own->bias = 2;
  return beta == 1 && !c.empty() && c.back() == y[1] && (c.size() == 1 || c[0] == 1);
}

}  // namespace

Status plan_product(const LtDevice& device, const sluice_op& op, Epilogue* epilogue,
                    std::unique_ptr<const LibraryCall>* call) {
  const sluice_tensor& output = op.outputs[0].tensor;
  const std::optional<MatrixProduct> product = read_product(op);
  const std::optional<LtType> type = type_of(output.element_type);
  Epilogue own;
  Scaling scaling;
  const bool fits =
      product && type && read_scaling(op, &scaling, &own) &&
      std::ranges::all_of(plugin::inputs_of(op), [&](const sluice_operand& input) {
        return plugin::is_absent(input.tensor) || input.tensor.element_type == output.element_type;
      });
  if (!fits) return plugin::unimplemented("no library has such a product");
  Status status;
  for (const Epilogue& tried :
       {match_epilogue(op, static_cast<std::size_t>(output.rank) - 1, own, {}), own}) {
    Scaling scaled = scaling;
    if (own.addend < 0 && tried.addend >= 0) scaled.beta = 1;
    auto made = std::make_unique<ProductCall>(device, *product, *type, tried, scaled);
    status = made->plan();
    if (!status.is_ok()) continue;
    *epilogue = tried;
    *call = std::move(made);
    break;
  }
  return status;
}

}  // namespace sluice::cuda

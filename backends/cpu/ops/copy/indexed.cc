// Elements read and written by index: GatherND, ScatterElements, ScatterND.

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/divide.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Indices of i32 or i64; negative ones count from the end.
class IndexReader {
 public:
  IndexReader(const sluice_tensor& tensor, const void* data)
      : is_wide_(tensor.element_type == plugin::kI64), data_(data) {}

  /// As the data has it.
  std::int64_t raw(std::int64_t i) const {
    return is_wide_ ? static_cast<const std::int64_t*>(data_)[i]
                    : std::int64_t{static_cast<const std::int32_t*>(data_)[i]};
  }
  /// An index into `length` places; -1 if it is outside.
  std::int64_t at(std::int64_t i, std::int64_t length) const {
    const std::int64_t given = raw(i);
    const std::int64_t index = given < 0 ? given + length : given;
    return index >= 0 && index < length ? index : -1;
  }
  /// Calls `use` with the address of index `i`.
  template <typename Use>
  void from(std::int64_t i, const Use& use) const {
    is_wide_ ? use(static_cast<const std::int64_t*>(data_) + i)
             : use(static_cast<const std::int32_t*>(data_) + i);
  }

 private:
  bool is_wide_;
  const void* data_;
};

/// Parts whose places are found together.
constexpr std::int64_t kFoundTogether = 256;

/// Where the parts of a tensor lie that a tensor of indices names.
class IndexedPlaces {
 public:
  virtual ~IndexedPlaces() = default;
  /// The offsets of parts [first, first + size) in elements; -1 where an index is outside.
  virtual void find(const IndexReader& indices, std::int64_t first, std::int64_t size,
                    std::int64_t* offsets) const = 0;
  /// The error of part `i`, an index of which is outside.
  virtual Status outside(const IndexReader& indices, std::int64_t i) const = 0;

  std::int64_t count = 0;     ///< parts
  std::int64_t elements = 1;  ///< of a part
};

/// Part `i` is an element: index `i` replaces its own place along one axis.
class PlacesAlongAxis : public IndexedPlaces {
 public:
  PlacesAlongAxis(std::span<const std::int64_t> data, std::span<const std::int64_t> indices,
                  std::int64_t axis)
      : dims_(indices.begin(), indices.end()),
        strides_(broadcast_strides(data, data)),
        axis_(static_cast<std::size_t>(axis)),
        length_(data[static_cast<std::size_t>(axis)]) {
    count = product(indices, 0, static_cast<std::int64_t>(indices.size()));
  }

  void find(const IndexReader& indices, std::int64_t first, std::int64_t size,
            std::int64_t* offsets) const override {
    const std::size_t last = dims_.size() - 1;
    std::int64_t row = first / dims_[last];
    std::int64_t column = first % dims_[last];
    for (std::int64_t i = 0; i < size; ++row, column = 0) {
      std::int64_t base = 0;
      std::int64_t rest = row;
      for (std::size_t d = last; d-- > 0; rest /= dims_[d]) {
        if (d != axis_) base += rest % dims_[d] * strides_[d];
      }
      const std::int64_t step = axis_ == last ? 0 : strides_[last];
      const std::int64_t run = std::min(size - i, dims_[last] - column);
      indices.from(first + i, [&](const auto* given) {
        find_run(given, run, base + column * step, step, offsets + i);
      });
      i += run;
    }
  }
  Status outside(const IndexReader& indices, std::int64_t i) const override {
    return plugin::index_outside(indices.raw(i), static_cast<std::int64_t>(axis_), length_);
  }

 private:
  /// Neighbours of a row, whose own places are `step` apart from `base` on. Without branches: which
  /// indices are negative is anyone's guess.
  template <typename Index>
  void find_run(const Index* given, std::int64_t size, std::int64_t base, std::int64_t step,
                std::int64_t* offsets) const {
    const std::int64_t stride = strides_[axis_];
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t index = given[i] + (given[i] < 0 ? length_ : 0);
      const bool is_inside =
          static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(length_);
      offsets[i] = is_inside ? base + index * stride + i * step : -1;
    }
  }

  Dims dims_, strides_;
  std::size_t axis_;
  std::int64_t length_;
};

/// Part `i` is what `depth` coordinates leave of the tensor, behind `batch` axes of its own.
class PlacesByPoint : public IndexedPlaces {
 public:
  PlacesByPoint(std::span<const std::int64_t> data, std::span<const std::int64_t> indices,
                std::int64_t batch)
      : dims_(data.begin(), data.end()),
        strides_(broadcast_strides(data, data)),
        batch_(static_cast<std::size_t>(batch)),
        depth_(indices.back()) {
    for (std::size_t d = 0; d < strides_.size(); ++d) {  // of axes of 1, too
      strides_[d] =
          product(data, static_cast<std::int64_t>(d) + 1, static_cast<std::int64_t>(data.size()));
    }
    count = product(indices, 0, static_cast<std::int64_t>(indices.size()) - 1);
    const std::int64_t batches = product(data, 0, batch);
    per_batch_ = batches > 0 ? count / batches : 0;
    elements = product(data, batch + depth_, static_cast<std::int64_t>(data.size()));
  }

  void find(const IndexReader& indices, std::int64_t first, std::int64_t size,
            std::int64_t* offsets) const override {
    indices.from(first * depth_, [&](const auto* given) {
      switch (depth_) {
        case 1: return find_points<1>(given, first, size, offsets);
        case 2: return find_points<2>(given, first, size, offsets);
        case 3: return find_points<3>(given, first, size, offsets);
        default: find_points<0>(given, first, size, offsets);
      }
    });
  }
  Status outside(const IndexReader& indices, std::int64_t i) const override {
    std::int64_t k = 0;
    while (k + 1 < depth_ && indices.at(i * depth_ + k, length(k)) >= 0) ++k;
    return plugin::index_outside(indices.raw(i * depth_ + k), static_cast<std::int64_t>(batch_) + k,
                                 length(k));
  }

 private:
  /// Without branches on indices. kDepth: of that many coordinates; 0 for others.
  template <int kDepth, typename Index>
  void find_points(const Index* given, std::int64_t first, std::int64_t size,
                   std::int64_t* offsets) const {
    const std::int64_t depth = kDepth > 0 ? kDepth : depth_;
    const std::int64_t* lengths = dims_.data() + batch_;
    const std::int64_t* strides = strides_.data() + batch_;
    for (std::int64_t i = 0; i < size; ++i, given += depth) {
      std::int64_t offset = batch_ == 0 ? 0 : (first + i) / per_batch_ * strides_[batch_ - 1];
      bool is_inside = true;
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t index = given[k] + (given[k] < 0 ? lengths[k] : 0);
        const bool is_found =
            static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(lengths[k]);
        offset += (is_found ? index : 0) * strides[k];
        is_inside &= is_found;
      }
      offsets[i] = is_inside ? offset : -1;
    }
  }

  std::int64_t length(std::int64_t k) const { return dims_[batch_ + static_cast<std::size_t>(k)]; }

  Dims dims_, strides_;
  std::size_t batch_;
  std::int64_t depth_;
  std::int64_t per_batch_ = 0;
};

/// Some pieces of the work, each of which notes the first of its parts that is outside.
class GatherPlaces : public Kernel {
 public:
  GatherPlaces(const sluice_op& op, std::unique_ptr<IndexedPlaces> places)
      : Kernel(op),
        places_(std::move(places)),
        bytes_(places_->elements * element_bytes(op.inputs[0].tensor)) {}

  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    const IndexReader indices(op().inputs[1].tensor, run.input<void>(1));
    auto* outside = reinterpret_cast<std::int64_t*>(run.shared());
    if (phase == 1) {
      if (worker.index == 0) report(run, indices, outside);
      return;
    }
    const Share share = share_of(kPieces, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      outside[i] =
          run_parts(run, indices, share_of(places_->count, 64, {static_cast<int>(i), kPieces}));
    }
  }

  void extents(Extents& extents) const override {
    extents.writes(0, {places_->count, bytes_});  // places are inside the data, or not used
  }
  std::int64_t shared_bytes() const override { return kPieces * sizeof(std::int64_t); }
  double cost_ns() const override {
    return static_cast<double>(places_->count) * (static_cast<double>(bytes_) * 0.1 + 5);
  }

 private:
  static constexpr int kPieces = 64;

  /// The first part that is outside; -1 if there is none.
  std::int64_t run_parts(const Run& run, const IndexReader& indices, Share parts) const {
    std::int64_t outside = -1;
    std::int64_t places[kFoundTogether];
    for (std::int64_t i = parts.begin; i < parts.end; i += kFoundTogether) {
      const std::int64_t size = std::min(kFoundTogether, parts.end - i);
      places_->find(indices, i, size, places);
      const std::byte* from = run.input<std::byte>(0);
      std::byte* to = run.output<std::byte>(0) + i * bytes_;
      std::int64_t found = -1;
      switch (bytes_) {
        case 4: found = gather<4>(from, places, size, to); break;
        case 8: found = gather<8>(from, places, size, to); break;
        default: found = gather<0>(from, places, size, to);
      }
      if (found >= 0 && outside < 0) outside = i + found;
    }
    return outside;
  }

  /// The first part that is outside; -1 if there is none.
  /// kBytes: of parts of one element; 0 for others.
  template <int kBytes>
  std::int64_t gather(const std::byte* from, const std::int64_t* places, std::int64_t count,
                      std::byte* to) const {
    const std::int64_t element = element_bytes(op().inputs[0].tensor);
    std::int64_t outside = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      if (places[i] < 0) {
        if (outside < 0) outside = i;
        continue;
      }
      if constexpr (kBytes > 0) {
        std::memcpy(to + i * kBytes, from + places[i] * element, kBytes);
      } else {
        std::memcpy(to + i * bytes_, from + places[i] * element, static_cast<std::size_t>(bytes_));
      }
    }
    return outside;
  }

  void report(const Run& run, const IndexReader& indices, const std::int64_t* outside) const {
    for (int i = 0; i < kPieces; ++i) {
      if (outside[i] >= 0) return run.fail(places_->outside(indices, outside[i]));
    }
  }

  std::unique_ptr<IndexedPlaces> places_;
  std::int64_t bytes_;
};

/// How updates meet what is there; null if they replace it, or have no fast form.
TypedLoop scatter_loop(const sluice_op& op, Isa isa) {
  const auto reduction = plugin::Attributes(op).get_text("reduction", "none");
  const std::optional<Number> type = number_of(op.inputs[0].tensor.element_type);
  if (reduction == "none" || !type || op.inputs[0].tensor.element_type == plugin::kBool)
    return nullptr;
  const TypedOp op_of = reduction == "add"   ? TypedOp::kAdd
                        : reduction == "mul" ? TypedOp::kMul
                        : reduction == "max" ? TypedOp::kMax
                                             : TypedOp::kMin;
  return SLUICE_CPU_PICK(isa, typed_loop)(op_of, *type);
}

/// Each worker has a part of the result: it copies the data there, then writes the updates whose
/// places are there, of which later ones win.
class ScatterPlaces : public Kernel {
 public:
  ScatterPlaces(const sluice_op& op, std::unique_ptr<IndexedPlaces> places, Isa isa)
      : Kernel(op),
        places_(std::move(places)),
        bytes_(places_->elements * element_bytes(op.inputs[0].tensor)),
        combine_(scatter_loop(op, isa)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    // Cuts lie between parts, and about between lines of the cache.
    constexpr std::int64_t kLine = 16;
    const std::int64_t part = std::max<std::int64_t>(places_->elements, 1);
    const std::int64_t elements = plugin::num_elements(op().inputs[0].tensor);
    const Share own = share_of(elements, divide_up(kLine, part) * part, worker);
    const std::int64_t bytes = element_bytes(op().inputs[0].tensor);
    if (run.input<std::byte>(0) != run.output<std::byte>(0) && own.begin < own.end) {
      std::memcpy(run.output<std::byte>(0) + own.begin * bytes,
                  run.input<std::byte>(0) + own.begin * bytes,
                  static_cast<std::size_t>((own.end - own.begin) * bytes));
    }
    write_updates(run, own, worker.index == 0);
  }

  void extents(Extents& extents) const override {
    extents.reads(2, {places_->count, bytes_});
    extents.writes(0, {op().inputs[0].tensor.size_bytes});
  }
  double cost_ns() const override {
    return static_cast<double>(op().inputs[0].tensor.size_bytes) * 0.05 +
           static_cast<double>(places_->count) * (static_cast<double>(bytes_) * 0.1 + 10);
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  /// Those whose places are in `own`. All workers find an index that is outside; one reports it.
  void write_updates(const Run& run, const Share& own, bool reports) const {
    const IndexReader indices(op().inputs[1].tensor, run.input<void>(1));
    const std::int64_t bytes = element_bytes(op().inputs[0].tensor);
    std::int64_t places[kFoundTogether];
    for (std::int64_t i = 0; i < places_->count; i += kFoundTogether) {
      const std::int64_t size = std::min(kFoundTogether, places_->count - i);
      places_->find(indices, i, size, places);
      for (std::int64_t k = 0; k < size; ++k) {
        if (places[k] < 0) {
          if (reports) run.fail(places_->outside(indices, i + k));
          return;
        }
        if (places[k] < own.begin || places[k] >= own.end) continue;
        std::byte* to = run.output<std::byte>(0) + places[k] * bytes;
        const std::byte* from = run.input<std::byte>(2) + (i + k) * bytes_;
        if (combine_ != nullptr) {
          combine_(to, 1, from, 1, to, places_->elements);
        } else {
          std::memcpy(to, from, static_cast<std::size_t>(bytes_));
        }
      }
    }
  }

  std::unique_ptr<IndexedPlaces> places_;
  std::int64_t bytes_;
  TypedLoop combine_ = nullptr;
};

Status check_indexed(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  if (op.num_inputs < 2) return unimplemented("no indices");
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
    }
  }
  const sluice_element_type index = op.inputs[1].tensor.element_type;
  if (index != plugin::kI64 && index != plugin::kI32)
    return unimplemented("indices of other types");
  const sluice_tensor& data = op.inputs[0].tensor;
  if (plugin::element_bits(data.element_type) < 8 || data.rank < 1 ||
      op.inputs[1].tensor.rank < 1) {
    return unimplemented("parts of bytes, or scalars");
  }
  return plugin::ok();
}

Status check_scatter(const sluice_op& op) {
  if (op.num_inputs < 3) return unimplemented("no updates");
  const auto reduction = plugin::Attributes(op).get_text("reduction", "none");
  const bool is_known =
      reduction == "add" || reduction == "mul" || reduction == "max" || reduction == "min";
  if (reduction != "none" && (!is_known || scatter_loop(op, Isa::kPortable) == nullptr)) {
    return unimplemented("reduction");
  }
  if (op.inputs[2].tensor.element_type != op.inputs[0].tensor.element_type) {
    return unimplemented("updates of another type");
  }
  return check_indexed(op);
}

/// The places of the operators whose indices stand for themselves along an axis; null if the shapes
/// are not right, which the reference kernel reports.
std::unique_ptr<IndexedPlaces> places_along_axis(const sluice_op& op) {
  const auto data = dims_of(op.inputs[0].tensor);
  const auto indices = dims_of(op.inputs[1].tensor);
  const auto rank = static_cast<std::int64_t>(data.size());
  const std::int64_t axis = plugin::Attributes(op).get_int("axis");
  if (axis < -rank || axis >= rank || indices.size() != data.size()) return nullptr;
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d != from_front(axis, rank) && indices[at] > data[at]) return nullptr;
  }
  return std::make_unique<PlacesAlongAxis>(data, indices, from_front(axis, rank));
}

std::unique_ptr<IndexedPlaces> places_by_point(const sluice_op& op, std::int64_t batch) {
  const auto data = dims_of(op.inputs[0].tensor);
  const auto indices = dims_of(op.inputs[1].tensor);
  const auto rank = static_cast<std::int64_t>(data.size());
  const auto points = static_cast<std::int64_t>(indices.size());
  if (batch < 0 || batch >= std::min(rank, points) || indices.back() < 1 ||
      indices.back() > rank - batch) {
    return nullptr;
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(batch); ++d) {
    if (data[d] != indices[d]) return nullptr;
  }
  return std::make_unique<PlacesByPoint>(data, indices, batch);
}

template <typename Indexed, typename... More>
Status make_indexed(const sluice_op& op, std::unique_ptr<IndexedPlaces> places, int parts_operand,
                    std::unique_ptr<Kernel>* kernel, More... more) {
  const sluice_tensor& parts =
      parts_operand == 0 ? op.outputs[0].tensor : op.inputs[parts_operand].tensor;
  if (places == nullptr || places->count * places->elements != plugin::num_elements(parts)) {
    return unimplemented("shapes that do not fit");
  }
  *kernel = std::make_unique<Indexed>(op, std::move(places), more...);
  return plugin::ok();
}

Status make_gather_nd(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  const std::int64_t batch = plugin::Attributes(op).get_int("batch_dims");
  return make_indexed<GatherPlaces>(op, places_by_point(op, batch), 0, kernel);
}
Status make_scatter_elements(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return make_indexed<ScatterPlaces>(op, places_along_axis(op), 2, kernel, isa);
}
Status make_scatter_nd(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return make_indexed<ScatterPlaces>(op, places_by_point(op, 0), 2, kernel, isa);
}

}  // namespace

std::vector<OpEntry> indexed_entries() {
  return {{.kind = "GatherND",
           .check = check_indexed,
           .make = make_gather_nd,
           .num_required_inputs = 2},
          {.kind = "ScatterElements",
           .check = check_scatter,
           .make = make_scatter_elements,
           .num_required_inputs = 3},
          {.kind = "ScatterND",
           .check = check_scatter,
           .make = make_scatter_nd,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu

#include "worker/protocol/bundle.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/checked.h"

namespace sluice::worker {
namespace {

/// Tensors lie where kernels take them without a copy. The table's limit bounds names and errors of
/// one message; the rank bounds a tensor's dimensions.
constexpr std::uint64_t kTensorAlignment = 64;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaxRank = 64;

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

/// Appends numbers and texts to a table.
class TableWriter {
 public:
  template <typename T>
  void number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    // Host byte order: both processes run on one machine.
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void text(const std::string& value) {
    number<std::uint64_t>(value.size());
    const std::size_t at = bytes_.size();
    bytes_.resize(at + value.size());
    if (!value.empty()) std::memcpy(bytes_.data() + at, value.data(), value.size());
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads values back; after a missing value all later values are zero.
class TableReader {
 public:
  explicit TableReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  T number() {
    T value = {};
    if (left_.size() < sizeof(T)) return fail<T>();
    std::memcpy(&value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    // A size beyond the table is refused before memory is allocated.
    if (size > left_.size()) return fail<std::string>();
    std::string value(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    return value;
  }
  /// How many things of at least `least_bytes` follow.
  std::uint64_t count(std::uint64_t least_bytes) {
    const auto value = number<std::uint64_t>();
    return value > left_.size() / least_bytes ? fail<std::uint64_t>() : value;
  }
  bool has_failed() const { return has_failed_; }

 private:
  template <typename T>
  T fail() {
    has_failed_ = true;
    left_ = {};
    return {};
  }

  std::span<const std::byte> left_;
  bool has_failed_ = false;
};

/// Where a bundle's parts lie in the memory it is written to.
struct Layout {
  std::uint64_t table_bytes = 0;
  std::vector<std::uint64_t> offsets;  ///< by tensor
  std::vector<bool> is_there;          ///< by tensor: it needs no copy
  std::uint64_t end = 0;
  bool fits = true;  ///< no tensor lies where the table must be
};

bool lies_in(std::span<const std::byte> memory, const void* data) {
  const std::less<> before;
  return !memory.empty() && !before(data, memory.data()) &&
         before(data, memory.data() + memory.size());
}

/// Tensors that lie elsewhere come behind those that lie in `to`.
Layout lay_out(const Bundle& bundle, std::span<const std::byte> to) {
  Layout layout;
  layout.table_bytes = sizeof(std::uint64_t) * (bundle.numbers.size() + 4) + bundle.text.size();
  for (const auto& error : bundle.errors) layout.table_bytes += 12 + error.message.size();
  for (const auto& tensor : bundle.tensors) layout.table_bytes += 28 + 8 * tensor.dims.size();
  layout.end = aligned(layout.table_bytes);
  for (const auto& tensor : bundle.tensors) {
    std::uint64_t& offset = layout.offsets.emplace_back();
    layout.is_there.push_back(lies_in(to, tensor.data));
    if (!layout.is_there.back()) continue;
    offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(tensor.data) - to.data());
    layout.fits = layout.fits && offset >= layout.table_bytes;
    const std::uint64_t end = offset + static_cast<std::uint64_t>(tensor.size_bytes);
    layout.end = std::max(layout.end, aligned(end));
  }
  for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
    if (layout.is_there[i]) continue;
    layout.offsets[i] = layout.end;
    layout.end = aligned(layout.end + static_cast<std::uint64_t>(bundle.tensors[i].size_bytes));
  }
  return layout;
}

TableWriter make_table(const Bundle& bundle, const Layout& layout) {
  TableWriter table;
  table.number(layout.table_bytes);
  for (const std::int64_t number : bundle.numbers) table.number(number);
  table.text(bundle.text);
  table.number<std::uint64_t>(bundle.errors.size());
  for (const auto& error : bundle.errors) {
    table.number(error.runtime_code);
    table.text(error.message);
  }
  table.number<std::uint64_t>(bundle.tensors.size());
  for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
    const terms::TensorView& tensor = bundle.tensors[i];
    table.number(static_cast<std::int32_t>(tensor.element));
    table.number<std::uint64_t>(tensor.dims.size());
    for (const std::int64_t dim : tensor.dims) table.number(dim);
    table.number(layout.offsets[i]);
    table.number(static_cast<std::uint64_t>(tensor.size_bytes));
  }
  return table;
}

Status broken(std::string_view what) { return invalid_argument("a bundle {}", what); }

Result<terms::TensorView> read_tensor(TableReader& table, std::span<std::byte> from) {
  terms::TensorView view;
  const auto element = ir::element_type_from_onnx(table.number<std::int32_t>());
  const auto rank = table.count(sizeof(std::int64_t));
  if (!element || rank > kMaxRank) return broken("has a tensor of no type");
  view.element = *element;
  for (std::uint64_t i = 0; i < rank; ++i) view.dims.push_back(table.number<std::int64_t>());
  const auto offset = table.number<std::uint64_t>();
  const auto size = table.number<std::uint64_t>();
  if (table.has_failed() || offset % kTensorAlignment != 0 || offset > from.size() ||
      size > from.size() - offset) {
    return broken("has a tensor that is not in it");
  }
  view.data = from.data() + offset;
  view.size_bytes = static_cast<std::int64_t>(size);
  const auto count = checked_product(view.dims);
  if (!count) return broken("has a tensor whose shape is negative or too large");
  if (view.element == ir::ElementType::kString) return view;  // whoever uses it reads the texts
  const auto wanted = ir::storage_bytes(view.element, *count);
  if (wanted && *wanted == view.size_bytes) return view;
  return broken("has a tensor with fewer or more bytes than its shape says");
}

}  // namespace

std::int64_t bundle_bytes(const Bundle& bundle, std::span<const std::byte> to) {
  const Layout layout = lay_out(bundle, to);
  return static_cast<std::int64_t>(layout.fits ? layout.end : std::max(layout.end, to.size() + 1));
}

void write_bundle(const Bundle& bundle, std::span<std::byte> to) {
  const Layout layout = lay_out(bundle, to);
  TableWriter table = make_table(bundle, layout);
  std::memcpy(to.data(), table.bytes().data(), table.bytes().size());
  for (std::size_t i = 0; i < bundle.tensors.size(); ++i) {
    const auto size = static_cast<std::size_t>(bundle.tensors[i].size_bytes);
    // A kernel may have written its result to its place already.
    if (size == 0 || layout.is_there[i]) continue;
    std::memcpy(to.data() + layout.offsets[i], bundle.tensors[i].data, size);
  }
}

Result<Bundle> read_bundle(std::span<std::byte> from) {
  std::uint64_t table_bytes = 0;
  if (from.size() < sizeof(table_bytes)) return broken("is too short");
  std::memcpy(&table_bytes, from.data(), sizeof(table_bytes));
  if (table_bytes < sizeof(table_bytes) || table_bytes > from.size() ||
      table_bytes > kMaxTableBytes) {
    return broken("has a table that is not in it");
  }
  // Copied: the other side may go on writing.
  const std::vector<std::byte> copy(from.begin() + sizeof(table_bytes),
                                    from.begin() + static_cast<std::ptrdiff_t>(table_bytes));
  TableReader table(copy);
  Bundle bundle;
  for (std::int64_t& number : bundle.numbers) number = table.number<std::int64_t>();
  bundle.text = table.text();
  for (auto left = table.count(12); left > 0; --left) {
    const auto code = table.number<std::int32_t>();
    bundle.errors.push_back({code, table.text()});
  }
  for (auto left = table.count(28); left > 0; --left) {
    bundle.tensors.push_back(SLUICE_TRY(read_tensor(table, from)));
  }
  if (table.has_failed()) return broken("ends early");
  return bundle;
}

}  // namespace sluice::worker

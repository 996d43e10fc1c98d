#include "reference/broadcast.h"

#include <algorithm>
#include <optional>

namespace sluice::reference {
namespace {

/// What two dimensions stretch to; nullopt if they cannot meet.
std::optional<std::int64_t> meet(std::int64_t a, std::int64_t b) {
  if (a == b || b == 1) return a;
  // -1 is unknown, and may be a 1 that stretches: the known dimension decides.
  if (a == 1 || a == -1) return b;
  if (b == -1) return a;
  return std::nullopt;
}

std::int64_t dim_from_end(Dims dims, std::size_t from_end) {
  return from_end <= dims.size() ? dims[dims.size() - from_end] : 1;
}

}  // namespace

std::vector<std::int64_t> strides_of(Dims dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::uint64_t stride = 1;  // may wrap where the tensor has no elements
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(dims[d]);
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(Dims dims, Dims target) {
  const std::vector<std::int64_t> own = strides_of(dims);
  std::vector<std::int64_t> strides(target.size(), 0);
  const std::size_t missing = target.size() - dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    // A dimension of 1 keeps the stride 0, so that all steps along it read one element.
    if (dims[d] != 1) strides[missing + d] = own[d];
  }
  return strides;
}

plugin::Status broadcast_dims(Dims a, Dims b, std::vector<std::int64_t>* result) {
  std::vector<std::int64_t> dims(std::max(a.size(), b.size()));
  for (std::size_t from_end = 1; from_end <= dims.size(); ++from_end) {
    const auto met = meet(dim_from_end(a, from_end), dim_from_end(b, from_end));
    if (!met) {
      return plugin::invalid_argument("shapes " + plugin::to_string(a) + " and " +
                                      plugin::to_string(b) + " do not broadcast");
    }
    dims[dims.size() - from_end] = *met;
  }
  *result = std::move(dims);
  return plugin::ok();
}

}  // namespace sluice::reference

#include "compile/blocked_constant.h"

#include <algorithm>
#include <utility>

namespace sluice::compile {
namespace {

/// Dimensions with ones in front, up to `rank`.
ir::Shape aligned_shape(const ir::Constant& constant, std::size_t rank) {
  const ir::Shape& shape = *constant.type.shape();
  ir::Shape aligned(rank - shape.size(), ir::Dim(1));
  aligned.insert(aligned.end(), shape.begin(), shape.end());
  return aligned;
}

}  // namespace

bool can_block_channels(const ir::Constant& constant, std::size_t rank) {
  const bool is_float = constant.type.element() == ir::ElementType::kF32;
  if (!is_float || constant.type.shape()->size() > rank || rank < 3) return false;
  const ir::Shape shape = aligned_shape(constant, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != 1 && !shape[i].is(1)) return false;
  }
  return shape[1].value() > 1;
}

ir::Type blocked_type(const ir::Constant& constant, std::size_t rank) {
  return ir::Type::tensor(ir::ElementType::kF32, aligned_shape(constant, rank), ir::Layout::kC16);
}

ir::Constant block_channels(const ir::Constant& constant, std::size_t rank) {
  ir::Type type = blocked_type(constant, rank);
  std::vector<std::byte> data(static_cast<std::size_t>(*ir::storage_bytes(type)));
  std::ranges::copy(constant.data.view(), data.begin());
  return {std::move(type), Bytes::own(std::move(data))};
}

}  // namespace sluice::compile

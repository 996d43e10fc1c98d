// Norms and products of a decoder's layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/parts/builder.h"
#include "recipes/parts/decoder.h"

namespace sluice::recipes {

/// Records them by the names and variations of a shape. Borrows both. Rows are f32 [S, width].
class LayerParts {
 public:
  LayerParts(const DecoderShape& shape, Builder& build);

  /// The file's name of a weight, without ".weight" and ".bias".
  std::string named(std::string_view name) const;

  OperandId norm(OperandId x, const std::string& name, std::int64_t width);
  OperandId linear(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias);
  /// The columns of one product, cut into parts of `widths`.
  std::vector<OperandId> joined(OperandId x, const std::string& name, const Builder::Ints& widths,
                                std::int64_t in, bool has_bias);

  /// The product with an inner width, or the experts. `layer`: the begin of the weights' names.
  OperandId inner(OperandId x, const std::string& layer, std::size_t index);

 private:
  OperandId bent(OperandId x);
  OperandId gated(OperandId x, const std::string& layer);
  OperandId experts(OperandId x, const std::string& layer);
  OperandId shared_expert(OperandId x, const std::string& layer);

  const DecoderShape& shape_;
  Builder& build_;
  std::string_view prefix_;  ///< of this file
};

}  // namespace sluice::recipes

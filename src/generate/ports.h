// The tensors of a language model besides its states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "terms/tensors/signature.h"

namespace sluice::generate {

/// Places in the signature of a model that a recipe made (recipes/parts/decoder.h).
struct Ports {
  std::size_t ids = 0;        ///< input, i64[tokens]
  std::size_t positions = 0;  ///< input, i64[tokens]
  std::size_t sequences = 0;  ///< input, i64[tokens]: whose they are
  std::size_t tables = 0;     ///< input, i64[sequences, pages of the longest]
  std::size_t last = 0;       ///< input, i64[sequences]: tokens whose logits are wanted
  std::optional<std::size_t> adapters = {};  ///< input, i64[sequences]; of a model with adapters
  std::size_t logits = 0;                    ///< output, f32[sequences, vocabulary]
  std::int64_t vocabulary = 0;
};

/// Fails: kInvalidArgument for another model.
Result<Ports> find_ports(const terms::Signature& signature);

/// i64[numbers]; borrows the memory.
terms::TensorView view_of(std::span<std::int64_t> numbers);

}  // namespace sluice::generate

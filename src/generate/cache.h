// Keys and values of one sequence: the memory of a model's states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "terms/tensors/signature.h"

namespace sluice::generate {

/// A buffer for each state `state.NAME` [1, heads, M, size] with an output `state.NAME.next`, which
/// a run writes in place. M grows by steps, so that a token seldom meets a new shape and attention
/// reads few places that no token has. Used by one thread at a time.
class Cache {
 public:
  /// Fails: kInvalidArgument for a signature with other states, or without any.
  static Result<Cache> create(const terms::Signature& signature);

  /// Makes room for the places below `places`; what is there stays. `most` is the largest number
  /// that will ever be asked for. True where the memory moved: `bindings` holds from now on.
  /// Fails: kResourceExhausted.
  Result<bool> reserve(std::int64_t places, std::int64_t most);
  /// Bytes after `reserve` with the same numbers; a number too large is the largest one.
  std::int64_t bytes_with(std::int64_t places, std::int64_t most) const;

  /// A state's memory, which a run reads as the input and writes as the output.
  struct Binding {
    std::size_t input = 0;
    std::size_t output = 0;
    terms::TensorView view;
  };
  std::vector<Binding> bindings();

  std::int64_t places() const { return places_; }
  std::int64_t size_bytes() const { return bytes_with(0, 0); }

 private:
  struct State {
    std::size_t input;
    std::size_t output;
    std::int64_t heads;
    std::int64_t row_bytes;
    ir::ElementType element;
    std::int64_t size;
    MutableBytes memory{0};
  };
  static Result<State> state_of(const terms::Signature& signature, std::size_t input);
  std::int64_t places_with(std::int64_t places, std::int64_t most) const;
  MutableBytes grown(State& state, std::int64_t places) const;

  std::vector<State> states_;
  std::int64_t places_ = 0;
};

}  // namespace sluice::generate

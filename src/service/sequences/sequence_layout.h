// Which tensors of a model a client sends, and which ones its sequence has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "terms/server/declared_model.h"
#include "terms/tensors/signature.h"

namespace sluice::service {

/// Constant.
struct SequenceLayout {
  enum class Kind : std::uint8_t { kClient, kControl, kState };
  struct Place {
    Kind kind = Kind::kClient;
    std::size_t index = 0;  ///< of `client`'s tensors, `controls` or `states`
  };
  /// Has one of them at least; both: a state that the configuration lists as an output, too.
  struct Output {
    std::optional<std::size_t> client = {};  ///< of `client`'s outputs
    std::optional<std::size_t> state = {};   ///< of `states`
  };
  struct Control {
    terms::SequenceControl declared;
    std::vector<std::int64_t> dims;  ///< all 1
    Bytes false_bytes;               ///< not of a correlation id, as the next
    Bytes true_bytes;
  };
  /// The first value of a state.
  struct State {
    terms::TensorView initial;
    Bytes owner;  ///< of its bytes
  };

  std::vector<Place> inputs;    ///< by the model's signature
  std::vector<Output> outputs;  ///< the same
  terms::Signature client;      ///< what clients send and get
  std::vector<Control> controls;
  std::vector<State> states;
};

/// `declared` has sequences. Where it has rows, dims of states leave out the first dimension, which
/// is 1.
/// Fails: kInvalidArgument naming the line of config.pbtxt, for a tensor that the model lacks, has
///        with another type or shape, or has twice; kUnimplemented for a type that no state has;
///        kResourceExhausted for a state of more than 256 MiB.
Result<SequenceLayout> lay_out(const terms::DeclaredModel& declared, const terms::Signature& model);

}  // namespace sluice::service

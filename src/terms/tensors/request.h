// Requests and replies as callers see them: tensors by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "terms/tensors/signature.h"
#include "terms/tensors/stage.h"

namespace sluice::terms {

/// An input of a request, or an output of a reply. Memory of an input is borrowed for the request.
struct NamedTensor {
  std::string name;
  TensorView view;
  /// Index of a tensor in the exchange, which `view` does not hold then; 0: none.
  std::uint64_t exchange = 0;
};

/// Where an output of a request should go.
struct NamedMemory {
  std::string name;
  OutputMemory memory;
};

/// The time a request took, and the hardware that ran it.
struct ReplyDetail {
  std::uint64_t group = 0;            ///< handle of the core group
  std::vector<std::int32_t> cores;    ///< logical ids
  std::vector<std::string> backends;  ///< by segment
  std::int64_t queue_ns = 0;          ///< from submission to the first stage
  std::int64_t copy_ns = 0;           ///< in and out
  std::int64_t compute_ns = 0;        ///< all segments
  std::int64_t recorded_bytes = 0;    ///< of all slots, as in statistics
  bool is_joined = false;             ///< the request ran together with others
  std::int64_t num_ahead = 0;         ///< requests of the model that it found before it
  std::int64_t copy_out_ns = 0;       ///< of `copy_ns`, that of outputs
  std::int64_t counted_rows = 0;      ///< of its run, which one of its requests counts; 0: not this
  std::int64_t submitted_ns = 0;      ///< when the wait began, on the engine's clock
  std::vector<StageTime> stages = {};  ///< in the order of their ends; empty from a worker process
};

/// An index for every output of a signature: its place in `outputs`, or -1. Tensors without a name
/// are in the order of the signature.
/// Fails: kBadInput; the message names the unknown or repeated tensor.
Result<std::vector<int>> arrange_outputs(const std::vector<NamedMemory>& outputs,
                                         const Signature& signature);

/// An index for every input of a signature: its place in `inputs`; -1 stands for the default of an
/// input that the call leaves out. Fails: kBadInput as arrange_outputs, or naming a missing input.
Result<std::vector<int>> arrange_inputs(const std::vector<NamedTensor>& inputs,
                                        const Signature& signature);

}  // namespace sluice::terms

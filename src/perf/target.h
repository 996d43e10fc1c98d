// What a load is put on: a model behind a protocol, or in this process.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "terms/tensors/request.h"

namespace sluice::perf {

/// Inferences of one model, each sent again and again. Safe from any thread.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  /// Requires: every request is answered.
  virtual ~Target() = default;

  /// The model's inputs and outputs. A dimension of any size is a symbol.
  virtual const terms::Signature& signature() const = 0;
  /// The inputs of one more request, the first of which is number 0. Called before the first
  /// `send`. Ownership: the tensors' memory outlives the target. Fails: kUnimplemented for a type
  /// that the protocol lacks; kInvalidArgument.
  virtual Status add_request(const std::vector<terms::NamedTensor>& inputs) = 0;

  using Done = std::function<void(const Status&)>;
  /// Starts the request of this number. `done` is called once, on any thread, in bounded time;
  /// within this call only if the request fails.
  virtual void send(std::size_t request, Done done) = 0;

  /// Whether the model computes on threads of this process, so that their times tell nothing of
  /// the generator.
  virtual bool is_in_process() const { return false; }
};

}  // namespace sluice::perf

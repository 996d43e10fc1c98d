// Copies of requests for a model whose answers nobody sees.
#pragma once

#include <memory>

#include "dispatch/model_ref.h"
#include "runtime/request/request.h"

namespace sluice::dispatch {

/// A request that is submitted beside the one that it copies: it reads the same memory, which it
/// keeps, and with it the model, whose defaults may be inputs. Gone without a submit, it costs
/// nothing.
class ShadowCopy {
 public:
  /// Copies a request to `model` that was not submitted yet. Empty for a model without a shadow;
  /// for a request whose memory nobody keeps beyond its answer, or whose outputs go to memory of
  /// the client's; while the shadow has enough copies; and if no memory is left for one.
  ShadowCopy(const std::shared_ptr<ModelRef>& model, const runtime::Request& request);
  ShadowCopy(const ShadowCopy&) = delete;
  ShadowCopy& operator=(const ShadowCopy&) = delete;
  ~ShadowCopy() = default;

  /// Behind all that waits. A refusal is one of the shadow's statistics alone, and a lack of memory
  /// costs the copy alone: nothing is thrown.
  void submit();

 private:
  std::shared_ptr<ModelRef> shadow_;  ///< null: empty, or submitted
  runtime::Request request_;          ///< its `on_done` holds the copy's place, and gives it back
};

}  // namespace sluice::dispatch

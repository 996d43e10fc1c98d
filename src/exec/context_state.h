// The insides of a context.
#pragma once

#include <memory>
#include <vector>

#include "backend/texts.h"
#include "exec/frame.h"

namespace sluice::exec {

/// An input as the caller set it.
struct BoundInput {
  bool is_set = false;
  TensorView view;
  const void* address = nullptr;  ///< the caller's memory, or `staging` where that is not aligned
  AlignedBuffer staging;
  Value value;  ///< where it was set as one
};

/// An output as the caller gets it.
struct BoundOutput {
  void* bound = nullptr;
  std::int64_t capacity_bytes = 0;
  TensorView view;
  AlignedBuffer encoded;  ///< strings as offsets and bytes
  Value value;
};

struct ContextState {
  std::shared_ptr<const ModelState> model;
  std::vector<backend::Stream> streams;  // one per group of the model
  backend::TextPool texts;               // of the run under way, or the last one
  std::vector<BoundInput> inputs;
  std::vector<BoundOutput> outputs;
  std::vector<std::unique_ptr<Frame>> frames;  // by subgraph; made when first run

  Frame& frame(ir::SubgraphId id) {
    std::unique_ptr<Frame>& found = frames[id.index()];
    if (!found) found = std::make_unique<Frame>(*model->programs[id.index()], texts.get());
    return *found;
  }
};

}  // namespace sluice::exec

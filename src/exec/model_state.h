// What all contexts of a loaded model share.
#pragma once

#include <memory>
#include <vector>

#include "backend/group.h"
#include "exec/loaded_model.h"
#include "exec/packed_store.h"
#include "exec/program.h"

namespace sluice::exec {

struct ModelState {
  package::Executable executable;
  package::Signature signature;
  LoadOptions options;
  std::vector<std::shared_ptr<const backend::Backend>> backends;
  std::vector<std::shared_ptr<const backend::Group>> groups;  // one per backend
  PackedStore packed;
  /// By subgraph; null for bodies of fused operations, which no frame runs.
  std::vector<std::unique_ptr<Program>> programs;

  const Program& main() const { return *programs.front(); }
};

}  // namespace sluice::exec

// The ready models of the packages that were started last.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "exec/loaded_model.h"

namespace sluice::runtime {

/// Bounded: the least recently used one goes. Safe across threads.
class ReadyModels {
 public:
  using Ready = std::shared_ptr<const exec::ReadyModel>;
  /// A network of a hundred operations takes about 1 MB.
  static constexpr std::size_t kMost = 256;

  /// Keeps the model until kMost others were kept later.
  void keep(const Ready& ready);
  void drop(const Ready& ready);

 private:
  std::mutex mutex_;
  std::list<Ready> kept_;  ///< the one kept last is the first
};

}  // namespace sluice::runtime

// Which streams must wait for which others. Plain data, no device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::device {

/// Bytes that work reads or writes: from `begin` up to `end`.
struct Access {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool is_write = false;
};

/// Watches the work that goes to streams. Two pieces of work conflict if their bytes overlap and
/// one writes them; the later one must start after the earlier has ended.
///
/// A stream keeps its own order, so work never waits for its own stream. Order is transitive: if b
/// waits for a and c for b, c needs no wait for a. Per stream the table holds a vector clock: how
/// much work of each other stream its next work comes after.
class HazardTable {
 public:
  explicit HazardTable(std::size_t num_streams)
      : num_works_(num_streams), known_(num_streams, std::vector<std::uint64_t>(num_streams)) {}

  /// Adds work on `stream`. Returns the streams whose work so far must end before it starts, beyond
  /// those that it comes after already.
  std::vector<std::size_t> add(std::size_t stream, std::span<const Access> accesses);
  /// All work has ended.
  void clear() { works_.clear(); }

 private:
  struct Work {
    std::size_t stream = 0;
    std::uint64_t number = 0;  ///< of the stream's works, from 1
    Access access;
  };

  std::vector<std::uint64_t> num_works_;           ///< by stream
  std::vector<std::vector<std::uint64_t>> known_;  ///< [s][t]: works of t that s comes after
  std::vector<Work> works_;                        ///< not known to have ended, in order
};

}  // namespace sluice::device

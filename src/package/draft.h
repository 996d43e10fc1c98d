// A package that is written while it is compiled.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "package/executable.h"

namespace sluice::package {

/// A file beside its target that takes constants as soon as they are final, so that memory holds
/// few of them at a time; what it took is read from the file. Calls: `write_graph`, and apart from
/// it all of `add_packed`, then `map_packed`; `finish` at the end. The file goes away unless that
/// succeeds.
///
/// Move-only. Used by one thread. All calls fail with what writing the file reports: a full disk.
class Draft {
 public:
  /// Fails: as AtomicFile::create.
  static Result<Draft> create(const std::filesystem::path& target);

  Draft(Draft&&) noexcept;
  Draft& operator=(Draft&&) = delete;
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  /// Writes the graph, which must not change any more, and its constants. Afterwards the
  /// graph's constants are slices of the mapped file.
  Status write_graph(ir::Graph& graph);
  /// Writes the bytes of a packed constant and lets go of them.
  Status add_packed(PackedConstant& packed);
  /// Gives all packed constants their bytes back, as slices of the mapped file.
  /// Requires: `packed` was added, in this order.
  Status map_packed(std::span<PackedConstant> packed);
  /// Writes the rest and puts the file in its place. `executable` has the graph that was written
  /// and the packed constants that were added, in their order.
  Status finish(const Executable& executable);

 private:
  struct State;
  explicit Draft(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::package

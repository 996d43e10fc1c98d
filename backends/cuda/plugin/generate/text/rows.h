// Kernels in which threads share a row of numbers: a part of a warp, a warp, or a block. They read
// runs of neighbours, and keep what they have read where registers have room.
//
// Texts know
//   row, p        the row of the thread; the place of a run in the row
//   r, j          the number of a run of the thread; the place in the run
//   kLanes        threads of a row, which have consecutive threadIdx.x
//   kRuns, kSize  runs of a thread, at most; elements of a row
#pragma once

#include <string>

#include "plugin/generate/text/runs.h"

namespace sluice::cuda {

/// How threads share the rows.
struct RowPlan {
  std::int64_t count = 1, size = 1;  ///< rows; elements of each
  int run = 1;                       ///< neighbours that a thread reads at a time
  int lanes = 1;                     ///< threads of a row, a power of two up to 1024
  int runs = 1;                      ///< of a thread, at most
  int rows = 1;                      ///< of a block; the block has whole warps
  bool is_kept = true;               ///< a thread keeps its elements as `v[kRuns][kRun]`
};

/// `run`: neighbours that lie side by side and aligned, a divisor of `size`.
RowPlan plan_rows(std::int64_t count, std::int64_t size, int run);

/// As above where the elements of a row are apart and those of neighbouring rows side by side: a
/// thread per row.
RowPlan plan_columns(std::int64_t count, std::int64_t size);

/// A function of device code, `name(value)`, that combines the values of the `lanes` threads of a
/// row by `combine`, an expression of `a` and `b`. All get the result, and the order of the
/// combinations is the same for each launch. Requires: all threads of the block that have not
/// returned call it, and `lanes` above 32 are a block.
std::string row_function(const std::string& name, const std::string& combine, int lanes);

/// kRuns, kLanes, kSize.
std::string row_constants(const RowPlan& plan);

/// Finds `row`, and returns whole warps that have none. Other threads without one share the last
/// row, until leave_rows.
std::string find_shared_row(const RowPlan& plan);
std::string leave_rows(const RowPlan& plan);

/// A loop over the thread's runs.
std::string each_run(const RowPlan& plan, const std::string& statements);
/// A loop over the thread's elements. `statements` use `value_in_row`.
/// `address`: of the run at `p`, as an expression.
std::string each_element(const RowPlan& plan, const std::string& address,
                         const std::string& statements);
/// Element `j` of run `r`, a float.
std::string value_in_row(const RowPlan& plan);
/// Statements that read a run at `address` unless the thread has kept it; ahead of value_in_row.
std::string read_in_row(const RowPlan& plan, const std::string& address);

/// Declares and fills what the thread keeps. Empty if it keeps nothing.
std::string keep_row(const RowPlan& plan, const std::string& address);

/// Block and grid. False if a grid has no room.
bool set_grid(const RowPlan& plan, Source* source);

}  // namespace sluice::cuda

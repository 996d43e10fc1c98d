#pragma once

#include <deque>
#include <vector>

#include "core/isa.h"
#include "kernels/signal/fft.h"

namespace sluice::cpu {

/// A plan of transforms of one length, and the tables that it points to.
class FftTables {
 public:
  /// Requires: length >= 1.
  explicit FftTables(std::int64_t length);
  FftTables(const FftTables&) = delete;
  FftTables& operator=(const FftTables&) = delete;

  const FftPlan& plan() const { return plan_; }
  /// Operations of a transform of one line, roughly.
  double operations() const;

 private:
  FftStages stages_of(std::int64_t length);
  void add_chirp();
  const double* keep(std::vector<double> table);

  std::deque<std::vector<double>> tables_;
  FftPlan plan_;
};

}  // namespace sluice::cpu

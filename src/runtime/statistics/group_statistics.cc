#include "runtime/statistics/group_statistics.h"

#include <utility>

namespace sluice::runtime {

void GroupStatistics::add(std::shared_ptr<const ModelStatistics> model) {
  const std::lock_guard lock(mutex_);
  models_.push_back(std::move(model));
}

void GroupStatistics::retire(const ModelStatistics& model) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const auto& other) { return other.get() == &model; };
  // Merged once, even if two threads retire the model: counters of a group never fall.
  if (std::erase_if(models_, is_it) > 0) retired_.merge(model.snapshot());
}

ModelStatisticsSnapshot GroupStatistics::snapshot() const {
  const std::lock_guard lock(mutex_);
  ModelStatisticsSnapshot sum = retired_;
  for (const auto& model : models_) sum.merge(model->snapshot());
  return sum;
}

}  // namespace sluice::runtime

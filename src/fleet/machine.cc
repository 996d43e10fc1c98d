#include "fleet/machine.h"

#include <algorithm>

namespace sluice::fleet {

bool Resident::is_idle() const {
  return is_loaded && std::ranges::all_of(copies, [](const auto& copy) {
           return copy->station.num_in_flight() == 0;
         });
}

Copy& Machine::least_busy(Resident& resident) {
  const auto least = std::ranges::min_element(
      resident.copies, {}, [this](const auto& copy) { return groups_[copy->group].num_requests; });
  return **least;
}

Resident* Machine::find(std::uint32_t model) {
  const auto found = residents_.find(model);
  return found == residents_.end() ? nullptr : &found->second;
}

void Machine::remove(std::map<std::uint32_t, Resident>::iterator resident) {
  for (const auto& copy : resident->second.copies) --groups_[copy->group].num_copies;
  used_bytes_ -= resident->second.memory_bytes;
  residents_.erase(resident);
}

bool Machine::make_room(std::int64_t bytes) {
  while (!has_room(bytes)) {
    auto oldest = residents_.end();
    for (auto it = residents_.begin(); it != residents_.end(); ++it) {
      if (!it->second.is_idle()) continue;
      if (oldest == residents_.end() || it->second.used_ns < oldest->second.used_ns) oldest = it;
    }
    if (oldest == residents_.end()) return false;
    remove(oldest);
  }
  return true;
}

Resident* Machine::add(std::uint32_t model, const SimulatedModel& facts, int num_copies) {
  const std::int64_t bytes = facts.facts.memory_bytes;
  if (!make_room(bytes)) return nullptr;
  used_bytes_ += bytes;
  Resident& resident = residents_[model];
  resident.memory_bytes = bytes;
  for (int i = 0; i < num_copies; ++i) {
    const auto group = std::ranges::min_element(groups_, {}, &Group::num_copies);
    ++group->num_copies;
    const auto number = static_cast<std::size_t>(group - groups_.begin());
    resident.copies.push_back(std::make_unique<Copy>(model, facts, number));
  }
  return &resident;
}

std::int64_t Machine::load_until(std::int64_t now_ns, std::int64_t load_ns) {
  load_ends_ns_ = std::max(load_ends_ns_, now_ns) + load_ns;
  return load_ends_ns_;
}

std::vector<Query> Machine::fail(std::int64_t now_ns) {
  std::vector<Query> lost;
  const auto take = [&](const Started& started) {
    lost.insert(lost.end(), started.run.queries.begin(), started.run.queries.end());
  };
  for (Group& group : groups_) {
    if (group.running) {
      take(*group.running);
      group.busy_ns += now_ns - group.since_ns;
    }
    for (const Started& started : group.waiting) take(started);
    group.running.reset();
    group.waiting.clear();
    group.asking.clear();
    group.num_copies = 0;
    group.num_requests = 0;
  }
  for (auto& [model, resident] : residents_) {
    for (const auto& copy : resident.copies) {
      const std::vector<Query> waiting = copy->station.clear();
      lost.insert(lost.end(), waiting.begin(), waiting.end());
    }
  }
  residents_.clear();
  used_bytes_ = 0;
  load_ends_ns_ = 0;
  is_up_ = false;
  ++life_;
  return lost;
}

}  // namespace sluice::fleet

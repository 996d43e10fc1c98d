// Arrivals, deliveries and answers come in the order of time by themselves: the first are sorted,
// the others follow their causes by the same delay. All other events lie in a heap.
#include "fleet/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "fleet/machine.h"

namespace sluice::fleet {
namespace {

/// Limit of models on machines: each copy takes some kilobytes.
constexpr std::int64_t kMaxCopies = 1'000'000;
/// Limit of a run: as many as a trace has requests, one after another, end before 2^63 nanoseconds.
constexpr std::int64_t kLongestRunNs = 200'000'000'000;
constexpr std::int64_t kLongestDelayNs = 10'000'000'000'000'000;

class Simulation {
 public:
  Simulation(const std::vector<const SimulatedModel*>& models, const Trace& trace,
             const Fleet& fleet)
      : models_(models),
        trace_(trace),
        fleet_(fleet),
        random_(fleet.seed),
        router_(fleet.route, fleet.num_machines) {
    for (int i = 0; i < fleet.num_machines; ++i) {
      machines_.emplace_back(static_cast<std::size_t>(fleet.num_groups), fleet.memory_bytes);
    }
    outcome_.window.latencies_ns.reserve(trace.arrivals.size());
  }

  Outcome run() {
    for (std::uint32_t i = 0; i < machines_.size(); ++i) {
      if (fleet_.memory_bytes > 0) fill(i, /*is_start=*/true);
      schedule_failure(i);
    }
    // What fails and starts when all requests are answered changes nothing.
    while (num_open_ > 0 || next_arrival_ < trace_.arrivals.size()) step();
    outcome_.window.duration_ns = std::max<std::int64_t>(now_ns_, 1);
    std::int64_t busy_ns = 0;
    for (const Machine& machine : machines_) {
      for (const Group& group : machine.groups()) busy_ns += group.busy_ns;
    }
    outcome_.utilisation = static_cast<double>(busy_ns) /
                           static_cast<double>(outcome_.window.duration_ns) / fleet_.num_machines /
                           fleet_.num_groups;
    return std::move(outcome_);
  }

 private:
  enum class Kind : std::uint8_t { kRunEnds, kLoaded, kLook, kFails, kStarts, kDelivery };
  struct Event {
    std::int64_t time_ns = 0;
    std::uint64_t order = 0;  ///< of equal times: in the order in which they were scheduled
    Kind kind = Kind::kRunEnds;
    std::uint32_t machine = 0;
    std::uint32_t life = 0;   ///< of the machine
    std::uint32_t which = 0;  ///< group, model, or query in resent_
    std::uint32_t copy = 0;   ///< of the model

    bool operator>(const Event& other) const {
      return std::tie(time_ns, order) > std::tie(other.time_ns, other.order);
    }
  };
  struct Delivery {
    std::int64_t time_ns = 0;
    Query query;
  };
  struct Answer {
    std::int64_t time_ns = 0;
    std::uint32_t machine = 0;
  };

  void step();
  void happen(const Event& event);
  void schedule(std::int64_t time_ns, Kind kind, std::uint32_t machine, std::uint32_t which = 0,
                std::uint32_t copy = 0);
  void schedule_failure(std::uint32_t machine);

  void arrive(const Arrival& arrival);
  void send(Query query);
  void send_again(Query query);
  void deliver(const Query& query);
  void end(const Query& query, bool is_ok);
  void close();
  void drop(const std::vector<Query>& queries);

  Resident* load(std::uint32_t machine, std::uint32_t model, bool is_start);
  void fill(std::uint32_t machine, bool is_start);
  void loaded(std::uint32_t machine, std::uint32_t model);
  void ask(std::uint32_t machine, Copy& copy);
  void serve(std::uint32_t machine, std::size_t group);
  void fill_slots(std::uint32_t machine, Copy& copy);
  void look(std::uint32_t machine, std::uint32_t model, std::uint32_t number);
  void start_run(std::uint32_t machine, std::size_t group);
  void end_run(std::uint32_t machine, std::size_t group);
  std::int64_t duration_ns(const Run& run);
  void fail(std::uint32_t machine);
  void restart(std::uint32_t machine);

  const std::vector<const SimulatedModel*>& models_;
  const Trace& trace_;
  const Fleet& fleet_;
  Random random_;
  Router router_;
  std::deque<Machine> machines_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t num_events_ = 0;
  std::size_t next_arrival_ = 0;
  std::deque<Delivery> deliveries_;
  std::deque<Answer> answers_;
  std::vector<Query> resent_;  ///< by Event::which; places of delivered ones are in free_
  std::vector<std::uint32_t> free_;
  std::vector<Query> dropped_;
  std::int64_t num_open_ = 0;  ///< requests that have arrived and have not ended
  std::int64_t now_ns_ = 0;
  Outcome outcome_;
};

void Simulation::step() {
  const auto time_of = [](const auto& queue) {
    return queue.empty() ? kNoDeadline : queue.front().time_ns;
  };
  const std::int64_t answer_ns = time_of(answers_);
  const std::int64_t delivery_ns = time_of(deliveries_);
  const std::int64_t event_ns = events_.empty() ? kNoDeadline : events_.top().time_ns;
  const std::int64_t arrival_ns =
      next_arrival_ < trace_.arrivals.size() ? trace_.arrivals[next_arrival_].time_ns : kNoDeadline;
  now_ns_ = std::min({answer_ns, delivery_ns, event_ns, arrival_ns});
  if (answer_ns == now_ns_) {
    router_.ended(answers_.front().machine);
    answers_.pop_front();
  } else if (event_ns == now_ns_) {
    const Event event = events_.top();
    events_.pop();
    happen(event);
  } else if (delivery_ns == now_ns_) {
    const Query query = deliveries_.front().query;
    deliveries_.pop_front();
    deliver(query);
  } else {
    arrive(trace_.arrivals[next_arrival_++]);
  }
}

void Simulation::happen(const Event& event) {
  if (event.kind == Kind::kDelivery) {
    free_.push_back(event.which);
    return deliver(resent_[event.which]);
  }
  if (event.kind == Kind::kStarts) return restart(event.machine);
  if (event.life != machines_[event.machine].life()) return;
  switch (event.kind) {
    case Kind::kRunEnds: return end_run(event.machine, event.which);
    case Kind::kLoaded: return loaded(event.machine, event.which);
    case Kind::kLook: return look(event.machine, event.which, event.copy);
    case Kind::kFails: return fail(event.machine);
    case Kind::kStarts:
    case Kind::kDelivery: break;
  }
}

void Simulation::schedule(std::int64_t time_ns, Kind kind, std::uint32_t machine,
                          std::uint32_t which, std::uint32_t copy) {
  events_.push({time_ns, num_events_++, kind, machine, machines_[machine].life(), which, copy});
}

void Simulation::schedule_failure(std::uint32_t machine) {
  if (fleet_.failure_ns == 0) return;
  const double wait_ns = -static_cast<double>(fleet_.failure_ns) * std::log1p(-uniform(random_));
  schedule(now_ns_ + static_cast<std::int64_t>(wait_ns), Kind::kFails, machine);
}

void Simulation::arrive(const Arrival& arrival) {
  Query query;
  query.sent_ns = arrival.time_ns;
  if (arrival.deadline_ns > 0) query.deadline_ns = arrival.time_ns + arrival.deadline_ns;
  query.model = arrival.model;
  query.rows = arrival.rows;
  ++num_open_;
  send(query);
}

void Simulation::send(Query query) {
  const auto machine = router_.send(query.model);
  if (!machine) {
    ++outcome_.num_lost;
    return close();
  }
  query.machine = *machine;
  deliveries_.push_back({now_ns_ + fleet_.link_ns, query});
}

/// The balancer learns of the loss over the link, and the request takes it once more.
void Simulation::send_again(Query query) {
  router_.ended(query.machine);
  const auto machine = ++query.num_tries < kMostTries ? router_.send(query.model) : std::nullopt;
  if (!machine) {
    ++outcome_.num_lost;
    return close();
  }
  query.machine = *machine;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(resent_.size()));
    resent_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  resent_[place] = query;
  schedule(now_ns_ + 2 * fleet_.link_ns, Kind::kDelivery, *machine, place);
}

void Simulation::deliver(const Query& query) {
  Machine& machine = machines_[query.machine];
  if (!machine.is_up()) return send_again(query);
  Resident* resident = machine.find(query.model);
  if (resident == nullptr) resident = load(query.machine, query.model, /*is_start=*/false);
  if (resident == nullptr) return end(query, false);
  resident->used_ns = now_ns_;
  Copy& copy = machine.least_busy(*resident);
  if (!copy.station.enter(query, now_ns_)) return end(query, false);
  ++machine.groups()[copy.group].num_requests;
  if (resident->is_loaded) ask(query.machine, copy);
}

void Simulation::close() {
  ++outcome_.window.num_failed;
  --num_open_;
}

/// A machine's answer or refusal leaves it now.
void Simulation::end(const Query& query, bool is_ok) {
  answers_.push_back({now_ns_ + fleet_.link_ns, query.machine});
  const std::int64_t answered_ns =
      now_ns_ + fleet_.link_ns + models_[query.model]->facts.overhead_ns;
  if (!is_ok || answered_ns > query.deadline_ns) return close();
  outcome_.window.latencies_ns.push_back(answered_ns - query.sent_ns);
  --num_open_;
}

void Simulation::drop(const std::vector<Query>& queries) {
  for (const Query& query : queries) end(query, false);
}

Resident* Simulation::load(std::uint32_t machine, std::uint32_t model, bool is_start) {
  const SimulatedModel& facts = *models_[model];
  Resident* resident = machines_[machine].add(model, facts, fleet_.num_copies);
  if (resident == nullptr) return nullptr;
  // A machine with room for all models had them when it started.
  const bool is_first_life = fleet_.memory_bytes == 0 && machines_[machine].life() == 0;
  resident->is_loaded = is_start || is_first_life;
  if (resident->is_loaded) return resident;
  ++outcome_.num_loads;
  schedule(machines_[machine].load_until(now_ns_, facts.facts.load_ns), Kind::kLoaded, machine,
           model);
  return resident;
}

void Simulation::fill(std::uint32_t machine, bool is_start) {
  const auto num_models = static_cast<std::uint32_t>(models_.size());
  for (std::uint32_t i = 0; i < num_models; ++i) {
    const bool has_home = fleet_.route == Route::kModel;
    const std::uint32_t model = has_home ? i : (machine + i) % num_models;
    if (has_home && router_.home_of(model) != machine) continue;
    if (!machines_[machine].has_room(models_[model]->facts.memory_bytes)) return;
    load(machine, model, is_start);
  }
}

void Simulation::loaded(std::uint32_t machine, std::uint32_t model) {
  Resident* resident = machines_[machine].find(model);
  if (resident == nullptr) return;
  resident->is_loaded = true;
  for (const auto& copy : resident->copies) ask(machine, *copy);
}

void Simulation::look(std::uint32_t machine, std::uint32_t model, std::uint32_t number) {
  Resident* resident = machines_[machine].find(model);
  if (resident == nullptr || number >= resident->copies.size()) return;
  resident->copies[number]->look_ns = kNoDeadline;
  ask(machine, *resident->copies[number]);
}

/// The copy has requests that wait.
void Simulation::ask(std::uint32_t machine, Copy& copy) {
  Group& group = machines_[machine].groups()[copy.group];
  if (!copy.is_asking) group.asking.push_back(&copy);
  copy.is_asking = true;
  serve(machine, copy.group);
}

void Simulation::serve(std::uint32_t machine, std::size_t number) {
  Group& group = machines_[machine].groups()[number];
  while (group.is_idle() && !group.asking.empty()) {
    Copy& copy = *group.asking.front();
    group.asking.pop_front();
    copy.is_asking = false;
    fill_slots(machine, copy);
  }
}

void Simulation::fill_slots(std::uint32_t machine, Copy& copy) {
  Group& group = machines_[machine].groups()[copy.group];
  dropped_.clear();
  while (auto run = copy.station.take_run(now_ns_, dropped_)) {
    group.waiting.push_back({std::move(*run), &copy});
  }
  group.num_requests -= std::ssize(dropped_);
  drop(dropped_);
  const std::int64_t due_ns = copy.station.join_due_ns();
  if (due_ns < copy.look_ns) {
    const auto& copies = machines_[machine].find(copy.model)->copies;
    const auto found = std::ranges::find(copies, &copy, &std::unique_ptr<Copy>::get);
    copy.look_ns = due_ns;
    schedule(std::max(due_ns, now_ns_), Kind::kLook, machine, copy.model,
             static_cast<std::uint32_t>(found - copies.begin()));
  }
  start_run(machine, copy.group);
}

std::int64_t Simulation::duration_ns(const Run& run) {
  const SimulatedModel& model = *models_[run.queries.front().model];
  const CalibratedModel& facts = model.facts;
  const double scale = facts.run_ns(run.rows) / static_cast<double>(facts.compute_ns);
  const double drawn_ns = scale * static_cast<double>(model.times.draw_ns(random_));
  const double gap_ns = facts.gap_after_ns(std::ssize(run.queries));
  return static_cast<std::int64_t>(std::min(drawn_ns + gap_ns, static_cast<double>(kLongestRunNs)));
}

void Simulation::start_run(std::uint32_t machine, std::size_t number) {
  Group& group = machines_[machine].groups()[number];
  if (group.running || group.waiting.empty()) return;
  Started started = std::move(group.waiting.front());
  group.waiting.pop_front();
  // A run goes on until the last of its requests is late.
  const std::int64_t deadline_ns =
      std::ranges::max(started.run.queries, {}, &Query::deadline_ns).deadline_ns;
  const std::int64_t end_ns = now_ns_ + duration_ns(started.run);
  started.is_stopped = end_ns > deadline_ns;
  group.since_ns = now_ns_;
  group.running = std::move(started);
  schedule(std::max(std::min(end_ns, deadline_ns), now_ns_), Kind::kRunEnds, machine,
           static_cast<std::uint32_t>(number));
}

void Simulation::end_run(std::uint32_t machine, std::size_t number) {
  Group& group = machines_[machine].groups()[number];
  const Started ended = std::move(*group.running);
  group.running.reset();
  group.busy_ns += now_ns_ - group.since_ns;
  group.num_requests -= std::ssize(ended.run.queries);
  for (const Query& query : ended.run.queries) end(query, !ended.is_stopped);
  ended.copy->station.complete(ended.run, now_ns_, ended.is_stopped);
  start_run(machine, number);
  ask(machine, *ended.copy);
}

void Simulation::fail(std::uint32_t machine) {
  ++outcome_.num_failures;
  router_.set_up(machine, false);
  for (const Query& query : machines_[machine].fail(now_ns_)) send_again(query);
  schedule(now_ns_ + fleet_.restart_ns, Kind::kStarts, machine);
}

void Simulation::restart(std::uint32_t machine) {
  machines_[machine].start();
  router_.set_up(machine, true);
  if (fleet_.memory_bytes > 0) fill(machine, /*is_start=*/false);
  schedule_failure(machine);
}

Status check(const std::vector<const SimulatedModel*>& models, const Trace& trace,
             const Fleet& fleet) {
  const bool is_sound = fleet.num_machines >= 1 && fleet.num_machines <= kMaxMachines &&
                        fleet.num_groups >= 1 && fleet.num_groups <= kMaxGroups &&
                        fleet.num_copies >= 1 && fleet.num_copies <= fleet.num_groups;
  if (!is_sound) {
    return invalid_argument(
        "{} machines of {} groups with {} copies of a model: take 1 to {} machines, 1 to {} "
        "groups, "
        "and no more copies than groups",
        fleet.num_machines, fleet.num_groups, fleet.num_copies, kMaxMachines, kMaxGroups);
  }
  const auto delays = {fleet.link_ns, fleet.failure_ns, fleet.restart_ns};
  if (fleet.memory_bytes < 0 || std::min(delays) < 0 || std::max(delays) > kLongestDelayNs) {
    return invalid_argument("memory and delays are not below 0, and delays at most {} s",
                            kLongestDelayNs / 1'000'000'000);
  }
  if (trace.arrivals.empty() || models.size() != trace.models.size()) {
    return invalid_argument("a trace has requests, and each of its models is known");
  }
  std::int64_t least_bytes = kNoDeadline;
  for (const SimulatedModel* model : models) {
    const std::int64_t bytes = model->facts.memory_bytes;
    least_bytes = std::min(least_bytes, bytes);
    if (fleet.memory_bytes > 0 && bytes > fleet.memory_bytes) {
      return invalid_argument("model \"{}\" needs {} bytes, a machine has {}", model->facts.name,
                              bytes, fleet.memory_bytes);
    }
  }
  std::int64_t on_machine = std::ssize(models);
  if (fleet.memory_bytes > 0 && least_bytes > 0) {
    on_machine = std::min(on_machine, fleet.memory_bytes / least_bytes);
  }
  if (on_machine * fleet.num_machines > kMaxCopies / fleet.num_copies) {
    return make_error(Code::kResourceExhausted,
                      "more than {} copies of models; give machines less memory", kMaxCopies);
  }
  return ok_status();
}

}  // namespace

Figures Outcome::figures() const {
  const auto num_answered = static_cast<double>(window.latencies_ns.size());
  const auto num_failed = static_cast<double>(window.num_failed);
  return {window.latency_ns(0.5), window.latency_ns(0.99),
          num_failed > 0 ? num_failed / (num_answered + num_failed) : 0};
}

Result<Outcome> simulate(const std::vector<const SimulatedModel*>& models, const Trace& trace,
                         const Fleet& fleet) {
  SLUICE_TRY(check(models, trace, fleet));
  return Simulation(models, trace, fleet).run();
}

}  // namespace sluice::fleet

// Follows model_scheduler.cc, model_scheduler_step.cc and model_scheduler_join.cc.
#include "fleet/station.h"

#include <algorithm>
#include <utility>

namespace sluice::fleet {
namespace {

/// Stands for the request's inputs: the forecast compares runs of about as many bytes.
runtime::Request request_of(std::int64_t rows, std::int64_t deadline_ns) {
  runtime::Request request;
  request.deadline_ns = deadline_ns;
  if (rows > 1) request.inputs.emplace_back().size_bytes = rows;
  return request;
}

}  // namespace

Station::Station(const SimulatedModel& model) : model_(model), num_free_slots_(model.facts.depth) {}

bool Station::enter(const Query& query, std::int64_t now_ns) {
  const CalibratedModel& facts = model_.facts;
  const std::int64_t room = std::int64_t{facts.depth} * facts.batch_rows + facts.queue_limit;
  if (num_in_flight_ >= room || query.deadline_ns <= now_ns) return false;
  if (num_in_flight_ == 0) forecast_.resume(now_ns);
  runtime::Request request = request_of(query.rows, query.deadline_ns);
  const bool is_busy = num_in_flight_ >= facts.depth;
  const std::int64_t wait_ns =
      is_busy ? forecast_.wait_ns(line_.num_ahead(request), now_ns) : std::int64_t{0};
  if (forecast_.is_hopeless(request, wait_ns, now_ns)) return false;
  ++num_in_flight_;
  const runtime::Place place(request, next_id_++);
  line_.push(place, {query, std::move(request), now_ns});
  return true;
}

void Station::drop_late(std::int64_t now_ns, std::vector<Query>& dropped) {
  if (line_.next_deadline_ns() == kNoDeadline) return;
  const auto drop = [&](std::vector<Waiting>&& late) {
    for (const Waiting& waiting : late) dropped.push_back(waiting.query);
    num_in_flight_ -= static_cast<int>(late.size());
  };
  drop(line_.take_expired(now_ns));
  if (num_free_slots_ == 0) return;
  const auto request_of_waiting = [](const Waiting& waiting) -> const runtime::Request& {
    return waiting.request;
  };
  drop(runtime::take_late(line_, forecast_, now_ns, request_of_waiting));
}

std::int64_t Station::join_due_ns() const {
  if (model_.facts.batch_rows == 1 || num_free_slots_ == 0 || line_.empty()) return kNoDeadline;
  return line_.oldest()->submitted_ns + model_.facts.max_delay_ns;
}

Station::Next Station::next_run(std::int64_t now_ns) const {
  if (line_.empty()) return {};
  const std::int64_t max_rows = model_.facts.batch_rows;
  if (max_rows == 1) return {1, line_.front()->query.rows, true};
  Next run;
  line_.visit([&](const Waiting& next) {
    const bool fits = next.query.rows <= max_rows - run.rows;
    if (run.num_requests > 0 && !fits) {
      run.is_due = true;
      return false;
    }
    ++run.num_requests;
    run.rows += next.query.rows;
    run.is_due = !fits || run.rows == max_rows;
    return !run.is_due;
  });
  run.is_due = run.is_due || join_due_ns() <= now_ns;
  return run;
}

std::optional<Run> Station::take_run(std::int64_t now_ns, std::vector<Query>& dropped) {
  drop_late(now_ns, dropped);
  if (num_free_slots_ == 0) return std::nullopt;
  const Next next = next_run(now_ns);
  if (!next.is_due) return std::nullopt;
  Run run = {{}, next.rows, now_ns};
  for (std::size_t i = 0; i < next.num_requests; ++i) run.queries.push_back(line_.pop()->query);
  --num_free_slots_;
  return run;
}

void Station::complete(const Run& run, std::int64_t now_ns, bool is_stopped) {
  const auto run_class = runtime::Forecast::class_of(request_of(run.queries.front().rows, 0));
  std::int64_t num_answered = 0;
  for (const Query& query : run.queries) {
    const bool is_late = is_stopped || query.deadline_ns < now_ns;
    if (is_late) {
      forecast_.note_stopped(run_class, run.start_ns, std::min(query.deadline_ns, now_ns));
    } else {
      ++num_answered;
    }
  }
  if (num_answered > 0) {
    forecast_.complete(now_ns, num_answered);
    forecast_.note_run(run_class, run.start_ns, now_ns);
  }
  ++num_free_slots_;
  num_in_flight_ -= static_cast<int>(run.queries.size());
}

std::vector<Query> Station::clear() {
  std::vector<Query> waiting;
  for (const Waiting& one : line_.take_all()) waiting.push_back(one.query);
  num_free_slots_ = model_.facts.depth;
  num_in_flight_ = 0;
  forecast_ = {};
  return waiting;
}

}  // namespace sluice::fleet

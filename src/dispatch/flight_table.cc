#include "dispatch/flight_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/no_memory.h"
#include "dispatch/shadow.h"
#include "runtime/request/awaited_reply.h"

namespace sluice::dispatch {
namespace {

/// How long requests are computed elsewhere after two came close together. A client that keeps
/// several in flight does so for many requests in a row.
constexpr int kBackloggedRequests = 64;

std::int64_t bytes_of(const runtime::Reply& reply) {
  std::int64_t total = 0;
  for (const terms::OutputTensor& output : reply.outputs) total += output.view.size_bytes;
  return total;
}

}  // namespace

std::shared_ptr<Flight> FlightTable::enter(std::shared_ptr<ModelRef> model, bool may_compute,
                                           std::shared_ptr<telemetry::Observation> observation) {
  return enter(next_id_.fetch_add(1), std::move(model), may_compute, std::move(observation));
}

std::shared_ptr<Flight> FlightTable::enter(std::uint64_t id, std::shared_ptr<ModelRef> model,
                                           bool may_compute,
                                           std::shared_ptr<telemetry::Observation> observation) {
  auto flight = std::make_shared<Flight>(id, std::move(model), std::move(observation));
  // A joined request waits for others, which this thread may bring.
  may_compute = may_compute && !flight->model().is_remote() && !flight->model().joins();
  const std::lock_guard lock(mutex_);
  const bool is_alone = flights_.empty();
  if (!flights_.emplace(id, flight).second) return nullptr;
  flight->is_for_this_thread_ = may_compute && is_alone && is_short(flight->model());
  return flight;
}

bool FlightTable::is_short(const ModelRef& model) {
  const std::int64_t typical_ns = model.typical_ns();
  if (typical_ns < kShortNs) return true;
  if (typical_ns == ModelRef::kUnknownNs) return false;
  if (num_backlogged_ > 0) {
    --num_backlogged_;
    return false;
  }
  return typical_ns < max_compute_ns_;
}

Status FlightTable::post(const std::shared_ptr<Flight>& flight, runtime::Request& request,
                         RequestLimits limits) {
  flight->on_done_ = std::exchange(request.on_done, [this, flight](runtime::Reply reply) {
    end(*flight, reply);
    // The door may destroy the table once its on_done was called, so that call comes last.
    const auto on_done = std::exchange(flight->on_done_, nullptr);
    if (on_done) on_done(std::move(reply));
  });
  return submit(flight, request, std::move(limits));
}

Result<runtime::Reply> FlightTable::compute(const std::shared_ptr<Flight>& flight,
                                            runtime::Request& request, RequestLimits limits) {
  runtime::AwaitedReply reply;
  request.on_done = reply.on_done();
  request.will_wait = true;
  SLUICE_TRY(submit(flight, request, std::move(limits)));
  auto answer = reply.wait(flight->model().sink());
  end(*flight, answer);
  return answer;
}

Status FlightTable::submit(const std::shared_ptr<Flight>& flight, runtime::Request& request,
                           RequestLimits limits) {
  Status status = limits.quota != nullptr ? limits.quota->enter() : ok_status();
  if (!status.is_ok()) {
    flight->model().sink().refused(request);
  } else {
    request.max_run_ns = limits.max_run_ns;
    request.priority = std::min(request.priority, limits.max_priority);
    flight->quota_ = std::move(limits.quota);
    ShadowCopy copy(flight->model_, request);
    const auto id = catch_no_memory([&] {
      if (flight->observation_ != nullptr) observe(*flight, request);
      return flight->model().sink().submit(request);
    });
    if (id.is_ok()) {
      copy.submit();
      flight->set_sink_id(*id);  // perhaps after the answer: then the model knows no such id
      return ok_status();
    }
    status = id.status();
  }
  leave(*flight);
  flight->on_done_ = nullptr;
  return telemetry::failed(flight->observation_, status);
}

/// Before the model has the request: the answer may come before `submit` returns.
void FlightTable::observe(Flight& flight, runtime::Request& request) {
  std::int64_t bytes_in = 0;
  for (const terms::TensorView& input : request.inputs) bytes_in += input.size_bytes;
  request.wants_detail = true;
  flight.observation_->set_model(flight.model_->name(), flight.model_->version());
  flight.observation_->submitted(bytes_in, flight.model_->clock().now_ns());
  if (!flight.observation_->keeps_inputs() || !request.fetch_inputs().is_ok()) return;
  flight.observation_->keep_inputs(flight.model_->signature(), request.inputs, request.priority);
}

/// Takes a request that was answered or refused out of the table and the quota.
void FlightTable::leave(Flight& flight) {
  {
    const std::lock_guard lock(mutex_);
    if (flights_.erase(flight.id_) == 0) return;
  }
  if (flight.quota_ != nullptr) flight.quota_->leave();
}

void FlightTable::end(Flight& flight, const runtime::Reply& reply) {
  if (!reply.is_kept) {
    flight.model_->set_typical_ns(flight.model_->clock().now_ns() - flight.start_ns_);
  }
  if (flight.observation_ != nullptr) {
    flight.observation_->answered(reply.errors.to_status(), reply.detail, bytes_of(reply));
  }
  leave(flight);
}

void FlightTable::note_backlog() {
  const std::lock_guard lock(mutex_);
  num_backlogged_ = kBackloggedRequests;
}

bool FlightTable::contains(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return flights_.contains(id);
}

std::size_t FlightTable::size() const {
  const std::lock_guard lock(mutex_);
  return flights_.size();
}

void FlightTable::cancel(std::uint64_t id) {
  std::shared_ptr<Flight> flight;
  {
    const std::lock_guard lock(mutex_);
    const auto it = flights_.find(id);
    if (it == flights_.end()) return;
    flight = it->second;
  }
  flight->cancel();
}

void FlightTable::cancel_all() {
  std::vector<std::shared_ptr<Flight>> flights;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, flight] : flights_) flights.push_back(flight);
  }
  for (const auto& flight : flights) flight->cancel();
}

}  // namespace sluice::dispatch

// All that serving a request asks of its model, behind one reference.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/request/request.h"
#include "terms/server/declared_model.h"

namespace sluice::dispatch {

/// Made when the model is loaded, looked up once per request, valid while somebody shares it: after
/// an unload its sink refuses requests. Safe across threads.
class ModelRef {
 public:
  /// Latency of a model that has not answered yet.
  static constexpr std::int64_t kUnknownNs = std::numeric_limits<std::int64_t>::max();

  /// `in_place_inputs`: by input, whether the model may read it in the client's shared memory; an
  /// input beyond the end is copied. `is_remote`: a worker process computes the requests, so a
  /// thread that waits for an answer does none of the work. `version`: among models of its name.
  /// `name`: for whoever observes its requests. `declared`: what its configuration says; null: it
  /// has none.
  ModelRef(std::shared_ptr<runtime::RequestSink> sink, std::vector<bool> in_place_inputs,
           bool is_remote, std::int64_t version = 1, std::string name = {},
           std::shared_ptr<const terms::DeclaredModel> declared = nullptr)
      : sink_(std::move(sink)),
        signature_(sink_->signature()),
        clock_(sink_->clock()),
        in_place_inputs_(std::move(in_place_inputs)),
        is_remote_(is_remote),
        version_(version),
        name_(std::move(name)),
        joins_(sink_->batch_rows() > 1),
        declared_(declared != nullptr ? std::move(declared)
                                      : std::make_shared<const terms::DeclaredModel>()) {}

  runtime::RequestSink& sink() const { return *sink_; }
  const terms::Signature& signature() const { return signature_; }
  /// The engine's clock, which may be a simulation's.
  Clock& clock() const { return clock_; }
  bool reads_in_place(std::size_t input) const {
    return input < in_place_inputs_.size() && in_place_inputs_[input];
  }
  bool is_remote() const { return is_remote_; }
  std::int64_t version() const { return version_; }
  const std::string& name() const { return name_; }
  /// Whether the model joins requests.
  bool joins() const { return joins_; }
  /// Empty for a model without a configuration.
  const terms::DeclaredModel& declared() const { return *declared_; }

  /// Whether a request to `other` is one to this model: inputs of equal names and types, which both
  /// read in place or both do not.
  bool takes_the_same(const ModelRef& other) const;
  /// The model that gets copies of its requests; null: none.
  std::shared_ptr<ModelRef> shadow() const;
  /// From now on. Holds no share of it.
  void set_shadow(const std::shared_ptr<ModelRef>& shadow);
  /// A place for one copied request, until it is given back; false if all are taken. Copies may be
  /// as many as twice the slots: they hold the memory of requests that were answered.
  bool take_copy();
  void give_copy_back() { --num_copies_; }

  /// Latency of the last answer, from the request's submission.
  std::int64_t typical_ns() const { return typical_ns_.load(std::memory_order_relaxed); }
  void set_typical_ns(std::int64_t ns) { typical_ns_.store(ns, std::memory_order_relaxed); }

 private:
  const std::shared_ptr<runtime::RequestSink> sink_;
  const terms::Signature& signature_;  ///< the sink's, as is the clock
  Clock& clock_;
  const std::vector<bool> in_place_inputs_;
  const bool is_remote_;
  const std::int64_t version_;
  const std::string name_;
  const bool joins_;
  const std::shared_ptr<const terms::DeclaredModel> declared_;
  std::atomic<std::int64_t> typical_ns_ = kUnknownNs;
  std::atomic<int> num_copies_ = 0;
  std::atomic<bool> has_shadow_ = false;  ///< so that requests without one take no lock
  mutable std::mutex shadow_mutex_;
  std::weak_ptr<ModelRef> shadow_;  ///< guarded by shadow_mutex_
};

}  // namespace sluice::dispatch

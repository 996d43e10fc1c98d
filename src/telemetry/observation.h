// A request that somebody wants to know of, from its door to the end of its answer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "telemetry/request_record.h"
#include "terms/tensors/signature.h"

namespace sluice::telemetry {

class Telemetry;

/// Whoever works at the request shares it; the last to let go ends it, which hands its record on.
/// Used by one thread at a time.
///
///     begun --submitted--> at the model --answered--> being written --(destroyed)--> over
///        `------------------fail-------------------------^
class Observation {
 public:
  /// Telemetry::begin makes them.
  Observation(std::shared_ptr<const Telemetry> telemetry, RequestRecord record)
      : telemetry_(std::move(telemetry)), record_(std::move(record)) {}
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;
  ~Observation();

  const std::string& request_id() const { return record_.id; }
  void set_user(std::string account) { record_.user = std::move(account); }
  void set_model(std::string name, std::int64_t version) {
    record_.model = std::move(name);
    record_.version = version;
  }
  /// For HTTP. Keeps the first 512 bytes: anybody may send a path of many KiB, without a token too.
  void set_call(std::string_view method_and_path);
  /// Bytes of bodies, which count where no model had tensors.
  void set_http_reply(int status, std::int64_t bytes_in, std::int64_t bytes_out);

  /// The model has the request from now on. `engine_now_ns`: on the clock of the engine.
  void submitted(std::int64_t bytes_in, std::int64_t engine_now_ns);
  /// Whether somebody records traffic.
  bool keeps_inputs() const;
  /// Keeps copies of the inputs, by the names of `signature`, if somebody records traffic and there
  /// is memory for them.
  void keep_inputs(const terms::Signature& signature, std::span<const terms::TensorView> inputs,
                   std::int32_t priority);
  /// The model's answer; `status` is ok for one with outputs.
  void answered(const Status& status, terms::ReplyDetail detail, std::int64_t bytes_out);
  /// It ends with this error.
  void fail(const Status& status);

 private:
  void copy_inputs(const terms::Signature& signature, std::span<const terms::TensorView> inputs);

  const std::shared_ptr<const Telemetry> telemetry_;
  RequestRecord record_;
};

/// Does nothing without an observation; returns `status`.
const Status& failed(const std::shared_ptr<Observation>& observation, const Status& status);

}  // namespace sluice::telemetry

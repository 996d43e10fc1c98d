#include "rpc/client/ring_stream.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/client/stream_ring.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::client {
namespace {

/// The daemon takes entries within its own nap, unless it is suspended.
constexpr std::chrono::microseconds kLookForTaken(50);

class StreamOverRing final : public RingStream {
 public:
  StreamOverRing(std::shared_ptr<StreamRing> ring, bool takes_spans, FindModel find_model,
                 FindReason find_reason, const SharedTable& shared)
      : ring_(std::move(ring)),
        takes_spans_(takes_spans),
        find_model_(std::move(find_model)),
        find_reason_(std::move(find_reason)),
        shared_(shared) {}
  ~StreamOverRing() override { ring_->abort(); }

  Status send(std::uint64_t id, std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
              const InferOptions& options) override {
    auto entry_of_model = find_model_(model);
    if (entry_of_model == nullptr) return invalid_argument("the daemon has no model {:#x}", model);
    if (!is_carried(inputs, options)) {
      return invalid_argument(
          "a ring carries no details, places, indexes of the exchange or tracestate");
    }
    // Waits for a free entry; null once the ring is over.
    StreamRing::Entry* entry = ring_->take_entry();
    if (entry == nullptr) return over();
    entry->takes_span = takes_spans_;
    if (!fill(*entry, *entry_of_model, inputs, options, shared_)) {
      ring_->give_back(entry);
      return invalid_argument("a request does not fit an entry of {} bytes, or has strings",
                              entry->memory.size());
    }
    return submit(entry, id, std::move(entry_of_model)) ? ok_status() : over();
  }

  bool try_send(std::uint64_t id, std::uint64_t model,
                const std::vector<terms::NamedTensor>& inputs,
                const InferOptions& options) override {
    if (ring_->is_over() || !is_carried(inputs, options)) return false;
    auto entry_of_model = find_model_(model);
    StreamRing::Entry* entry = entry_of_model == nullptr ? nullptr : ring_->try_take_entry();
    if (entry == nullptr) return false;
    entry->takes_span = takes_spans_;
    if (fill(*entry, *entry_of_model, inputs, options, shared_)) {
      return submit(entry, id, std::move(entry_of_model));
    }
    ring_->give_back(entry);
    return false;
  }

  void wait_until_passed_on() override {
    while (ring_->has_untaken() && !ring_->is_over()) std::this_thread::sleep_for(kLookForTaken);
  }

  Status cancel(std::uint64_t id) override {
    if (ring_->is_over()) return over();
    if (ring_->cancel(id)) return ok_status();
    return make_error(Code::kResourceExhausted, "request {}: the ring is full, cancel it later",
                      id);
  }
  void close() override { ring_->close(); }
  void abort() override { ring_->abort(); }

  Result<std::optional<StreamAnswer>> next() override {
    while (true) {
      // Read before the completions are: what came before the end counts.
      const bool is_over = ring_->is_over();
      const bool is_closed = ring_->is_closed();
      const std::size_t num_in_flight = ring_->num_in_flight();
      if (StreamRing::Entry* entry = ring_->take(completion_)) return answer_of(entry);
      if (is_over) return reason();
      if (is_closed && num_in_flight == 0) return std::optional<StreamAnswer>();
      ring_->wait();
    }
  }

 private:
  static bool is_carried(const std::vector<terms::NamedTensor>& inputs,
                         const InferOptions& options) {
    for (const terms::NamedTensor& input : inputs) {
      if (input.exchange != 0) return false;
    }
    return !options.wants_detail && options.outputs.empty() && options.kept_outputs.empty() &&
           options.tracestate.empty() && options.timeout_ns >= 0;
  }

  static Status over() {
    return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                  "the stream is over: it was closed, or the daemon ended the ring");
  }
  Status reason() const {
    if (!ring_->is_aborted()) return find_reason_();
    return terms::runtime_error(RuntimeCode::kCancelled, "the stream was aborted");
  }

  /// False after `close`; the entry is free then.
  bool submit(StreamRing::Entry* entry, std::uint64_t id,
              std::shared_ptr<const terms::ModelEntry> model) {
    entry->id = id;
    entry->model = std::move(model);
    if (ring_->submit(*entry)) return true;
    ring_->give_back(entry);
    return false;
  }

  std::optional<StreamAnswer> answer_of(StreamRing::Entry* entry) {
    const std::uint64_t id = entry->id;
    const auto model = std::exchange(entry->model, nullptr);
    // The entry is free again when the caller drops the reply, whose tensors lie in it.
    const std::shared_ptr<const void> owner(
        entry, [ring = ring_](StreamRing::Entry* used) { ring->give_back(used); });
    return StreamAnswer{id, read_reply(*entry, completion_, *model, {}, owner)};
  }

  const std::shared_ptr<StreamRing> ring_;
  const bool takes_spans_;
  const FindModel find_model_;
  const FindReason find_reason_;
  const SharedTable& shared_;
  shm::Completion completion_;  ///< the reader's
};

}  // namespace

Result<std::unique_ptr<RingStream>> open_ring_stream(
    const std::string& side_socket, const std::string& token, const RingStreamOptions& options,
    bool takes_spans, FindModel find_model, FindReason find_reason, const SharedTable& shared) {
  auto ring = SLUICE_TRY(StreamRing::create(side_socket, token, options));
  return std::unique_ptr<RingStream>(std::make_unique<StreamOverRing>(
      std::move(ring), takes_spans, std::move(find_model), std::move(find_reason), shared));
}

}  // namespace sluice::rpc::client

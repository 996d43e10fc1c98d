// A model that answers a request which came before without a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/request/request.h"
#include "service/replies/kept_replies.h"
#include "terms/server/statistics.h"

namespace sluice::service {

/// Equal requests are those of one tenant (runtime::Request::exchange_owner) with equal inputs. The
/// first is computed; the next ones get its reply on the thread that submits them, and cost the
/// model and its line nothing. A failed request leaves no reply. Replies go with the model, and
/// with their tenant. A request of nobody, such as one that warms the model up, passes through, as
/// does a part of a sequence. While the model's line is full nobody gets a kept reply.
///
/// Safe from any thread. Always owned by a shared_ptr; requests in flight keep it alive.
class ReplyingModel final : public runtime::RequestSink,
                            public std::enable_shared_from_this<ReplyingModel> {
 public:
  static std::shared_ptr<ReplyingModel> create(std::shared_ptr<runtime::RequestSink> model,
                                               std::shared_ptr<KeptReplies> replies);
  ~ReplyingModel() override;

  const terms::Signature& signature() const override { return model_->signature(); }
  int depth() const override { return model_->depth(); }
  std::int64_t batch_rows() const override { return model_->batch_rows(); }
  Status join(const terms::BatchOptions& options) override { return model_->join(options); }
  bool is_full() const override { return model_->is_full(); }
  Clock& clock() const override { return model_->clock(); }
  std::shared_ptr<const package::Executable> executable() const override {
    return model_->executable();
  }
  /// Calls `on_done` before it returns where a reply is kept; the id is that of no request then.
  /// Fails: as the model.
  Result<std::uint64_t> submit(runtime::Request& request) override;
  void refused(const runtime::Request& request) override { model_->refused(request); }
  bool cancel(std::uint64_t id) override { return id != kAnswered && model_->cancel(id); }
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return model_->wait(is_done, deadline_ns);
  }
  void tell_waiters() override { model_->tell_waiters(); }

  /// Kept replies are given while the model takes requests: not while it is stopped. It does not
  /// say when it starts, stops or fails, so whoever starts, stops, resets or unloads it calls
  /// `update_replying` afterwards, whether that succeeded or not. A model that fails meanwhile
  /// gives kept replies until then.
  ///
  /// None from now on, before the model refuses requests.
  void stop_replying();
  /// `answers`: whether the model takes requests now. Each thread asks behind its own change and
  /// alone, so the last one to ask has seen all changes. Called under a lock: it must not block.
  void update_replying(const std::function<bool()>& answers);
  terms::KeptCounts counts() const;

 private:
  struct Miss;
  static constexpr std::uint64_t kAnswered = ~std::uint64_t{0};

  ReplyingModel(std::shared_ptr<runtime::RequestSink> model, std::shared_ptr<KeptReplies> replies);
  std::optional<ReplyKey> key_of(const runtime::Request& request) const;
  Result<std::uint64_t> compute(runtime::Request& request, const ReplyKey& key,
                                std::int64_t looked_ns);
  void keep(const Miss& miss, const runtime::Reply& reply);

  const std::shared_ptr<runtime::RequestSink> model_;
  const std::shared_ptr<KeptReplies> replies_;
  const std::uint64_t number_;  ///< of no other model of the process
  std::mutex replying_mutex_;   ///< guards writes of is_replying_
  std::atomic<bool> is_replying_ = true;
  std::atomic<std::int64_t> num_hits_ = 0;
  std::atomic<std::int64_t> hit_ns_ = 0;
  std::atomic<std::int64_t> num_misses_ = 0;
  std::atomic<std::int64_t> miss_ns_ = 0;
};

}  // namespace sluice::service

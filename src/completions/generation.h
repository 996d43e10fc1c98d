// A text that a client asked for, made step by step through the line of its model.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "completions/language_model.h"
#include "completions/prefix_caches.h"
#include "completions/retry_thread.h"
#include "completions/text_sink.h"
#include "dispatch/flight_table.h"
#include "dispatch/request_quota.h"
#include "generate/pages/page_pool.h"
#include "generate/sequence.h"
#include "generate/text/text_stream.h"

namespace sluice::completions {

struct TextRequest {
  generate::Request tokens;
  std::vector<std::string> stops = {};     ///< texts that end it
  std::int64_t deadline_ns = kNoDeadline;  ///< on the model's clock; looked at between steps
  std::int32_t priority = 0;               ///< of its steps in the model's line
  /// Below 2^63; texts share pages with those of the same number alone.
  std::uint64_t account = 0;
};

/// What the texts of a door share.
struct Shared {
  dispatch::FlightTable flights;
  std::shared_ptr<ByteBudget> caches;  ///< of all texts in the making, and of prefixes
  PrefixCaches prefixes;               ///< pages of texts that ended, until others need them
  std::atomic<std::int64_t> num_prompt_tokens = 0;  ///< of texts that have begun
  std::atomic<std::int64_t> num_cached_tokens = 0;  ///< of those, taken over from other texts
  std::atomic<int> num_texts = 0;                   ///< that were started and have not ended
  std::atomic<bool> is_draining = false;            ///< no more are started
  RetryThread retries;                              ///< last: its calls use the others
};

/// One text. A step of it is a part of a run of the model: a piece of the prompt, or a token,
/// beside those of other texts (Scheduler).
///
///     start --> line of the scheduler --> step --(take)--> token --> line ...
///                      |                                     |
///                      |                                     +--(full sink)--> paused --resume-->
///                      line
///                      `---- cancelled, failed, over ----> end
///
/// Whoever has the turn touches the sequence: the scheduler from `add` to `take` or `end`, or who
/// ends a pause. Safe across threads. Its step keeps it alive.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  /// Computes nothing yet. `shared` outlives it; the quota of `limits`, which is not null, counts
  /// it until its end, and the limit of a run holds for each of its steps. Fails: as
  /// generate::Sequence::start.
  static Result<std::shared_ptr<Generation>> create(std::shared_ptr<dispatch::ModelRef> model,
                                                    std::shared_ptr<const LanguageModel> language,
                                                    TextRequest request, Shared& shared,
                                                    dispatch::RequestLimits limits);

  /// Called once. Fails: as RequestQuota::enter and Scheduler::add; then the sink is never called.
  Status start(std::shared_ptr<TextSink> sink);
  /// Ends it with kCancelled, at the latest after the step in flight. May be called again.
  void cancel();
  /// After TextSink::take said false. Where it did not, the next pause ends at once.
  void resume();

  // For the scheduler, which has the turn.
  bool is_cancelled() const { return is_cancelled_; }
  std::int32_t priority() const { return priority_; }
  /// Limit of a step; 0: no limit.
  std::int64_t max_run_ns() const { return limits_.max_run_ns; }
  const std::shared_ptr<dispatch::ModelRef>& model() const { return model_; }
  Shared& shared() const { return shared_; }
  std::int64_t num_missing() const { return sequence_.num_missing(); }
  std::int64_t num_computed() const { return std::ssize(sequence_.tokens()) - num_missing(); }
  /// Null until `set_pool`.
  const std::shared_ptr<generate::Pages>& pages() const { return pages_; }
  /// The text takes over the pages of texts that begin with the same tokens.
  void set_pool(std::shared_ptr<generate::PagePool> pool);
  std::int64_t num_pages() const { return pages_ ? std::ssize(pages_->pages()) : 0; }
  /// Others need them: it computes its tokens again.
  void give_back_pages() {
    pages_ = nullptr;
    sequence_.set_computed(0);
  }
  bool is_late() const { return deadline_ns_ <= model_->clock().now_ns(); }
  /// Fails: kCancelled, kTimeout.
  Status check() const;
  Result<generate::Sequence::Piece> next_piece(std::int64_t most);
  /// The step's end, and the logits of the piece's last token. False: the turn is somebody else's.
  bool take(const Status& status, std::span<const float> logits);
  void end(Status status);

 private:
  enum class Next { kStep, kPause, kOver };

  Generation(std::shared_ptr<dispatch::ModelRef> model,
             std::shared_ptr<const LanguageModel> language, TextRequest request, Shared& shared,
             dispatch::RequestLimits limits);

  Result<Next> take_step(std::span<const float> logits);
  void keep_pages();
  std::uint64_t page_account() const;
  Result<Next> take_token(std::span<const float> logits);
  Status add_logprobs(std::span<const float> logits, std::int64_t token, Piece& piece) const;
  bool pause();
  void leave();

  const std::shared_ptr<dispatch::ModelRef> model_;
  const std::shared_ptr<const LanguageModel> language_;
  const std::int64_t deadline_ns_;
  const std::int32_t priority_;
  const std::uint64_t account_;
  Shared& shared_;
  const dispatch::RequestLimits limits_;

  // The thread that has the turn uses these members.
  generate::Sequence sequence_;
  generate::TextStream text_;
  std::shared_ptr<generate::Pages> pages_;
  generate::PrefixCache::Mark kept_;  ///< its pages in the model's cache
  generate::Sequence::Piece piece_;
  std::shared_ptr<TextSink> sink_;
  std::optional<std::int64_t> top_logprobs_;
  std::int64_t num_prompt_tokens_ = 0;
  std::int64_t num_cached_tokens_ = 0;
  bool has_begun_ = false;  ///< it had pages once
  std::int64_t num_tokens_ = 0;

  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  ///< guards the rest; held while nothing else is called
  bool is_paused_ = false;
  bool is_resumed_ = false;  ///< before the pause
};

}  // namespace sluice::completions

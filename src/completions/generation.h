// A text that a client asked for, made step by step through the line of its model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "base/bytes.h"
#include "completions/language_model.h"
#include "dispatch/flight_table.h"
#include "generate/cache.h"
#include "generate/sequence.h"
#include "generate/text/text_stream.h"

namespace sluice::completions {

struct TextRequest {
  generate::Request tokens;
  std::vector<std::string> stops = {};     ///< texts that end it
  std::int64_t deadline_ns = kNoDeadline;  ///< on the model's clock; looked at between steps
  std::int32_t priority = 0;               ///< of its steps in the model's line
};

/// How a text ended.
struct Ending {
  Status status;         ///< not ok: why it failed
  bool is_stop = false;  ///< at a token or a text that ends it; false: it was as long as it may be
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_tokens = 0;  ///< of the text
};

/// Where a text goes. Called by one thread at a time, which must not wait.
class TextSink {
 public:
  TextSink() = default;
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;
  virtual ~TextSink() = default;

  /// A piece, never empty. False: no more for now; whoever says so calls Generation::resume, once.
  virtual bool take(const std::string& text) = 0;
  /// Called once, last.
  virtual void end(const Ending& ending) = 0;
};

/// What the texts of a door share.
struct Shared {
  dispatch::FlightTable flights;
  std::shared_ptr<ByteBudget> caches;  ///< of all texts in the making
  std::atomic<int> num_texts = 0;      ///< that were started and have not ended
};

/// Each step is a request of its own: one run of the model for a piece of the prompt or for a
/// token. So texts take their steps in turn with each other, and with all that shares the cores, by
/// the rules of the model's line and of its group.
///
///     start --> step in flight --(reply)--> token --> step in flight ...
///                   |                         |
///                   |                         +--(the sink is full)--> paused --resume--> step ...
///                   +---- cancelled, failed, over ----> end
///
/// Whoever has the turn touches the sequence: the reply of the step in flight, or who ends a pause.
/// Safe across threads. Steps keep it alive, and a run that was cancelled keeps its memory.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  /// Computes nothing yet. `shared` outlives it; `quota` counts it until its end.
  /// Fails: as generate::Sequence::start.
  static Result<std::shared_ptr<Generation>> create(std::shared_ptr<dispatch::ModelRef> model,
                                                    std::shared_ptr<const LanguageModel> language,
                                                    TextRequest request, Shared& shared,
                                                    std::shared_ptr<dispatch::RequestQuota> quota);

  /// Called once. Fails: as RequestQuota::enter and RequestSink::submit; kResourceExhausted over
  /// the budget of caches; then the sink is never called.
  Status start(std::shared_ptr<TextSink> sink);
  /// Ends it with kCancelled, at the latest after the step in flight. May be called again.
  void cancel();
  /// After TextSink::take said false.
  void resume();

 private:
  enum class Next { kStep, kPause, kOver };

  Generation(std::shared_ptr<dispatch::ModelRef> model,
             std::shared_ptr<const LanguageModel> language, TextRequest request, Shared& shared,
             std::shared_ptr<dispatch::RequestQuota> quota, generate::Cache cache);

  Status step();
  runtime::Request step_request();
  Result<std::shared_ptr<dispatch::Flight>> take_off();
  void take(const runtime::Reply& reply);
  Result<Next> take_step(const runtime::Reply& reply);
  Result<Next> take_token();
  void go_on(const Result<Next>& next);
  bool pause();
  void end(Status status);
  void leave();

  const std::shared_ptr<dispatch::ModelRef> model_;
  const std::shared_ptr<const LanguageModel> language_;
  const std::int64_t deadline_ns_;
  const std::int32_t priority_;
  Shared& shared_;
  const std::shared_ptr<dispatch::RequestQuota> quota_;

  // Of whoever has the turn.
  generate::Sequence sequence_;
  generate::TextStream text_;
  generate::Cache cache_;
  ByteCharge charge_;    ///< of the cache
  MutableBytes logits_;  ///< f32[vocabulary]
  generate::Sequence::Piece piece_;
  std::shared_ptr<TextSink> sink_;
  std::int64_t num_prompt_tokens_ = 0;
  std::int64_t num_tokens_ = 0;

  std::mutex mutex_;  ///< guards the rest; held while nothing else is called
  std::shared_ptr<dispatch::Flight> flight_;  ///< the last step
  bool is_cancelled_ = false;
  bool is_paused_ = false;
  bool is_resumed_ = false;  ///< before the pause
};

}  // namespace sluice::completions

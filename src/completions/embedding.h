// Vectors and scores of texts that a client asked for, computed through the line of their model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "completions/generation.h"
#include "dispatch/flight_table.h"
#include "dispatch/later_cancel.h"
#include "dispatch/request_quota.h"
#include "embed/batches.h"
#include "embed/text_model.h"
#include "text/encoding.h"

namespace sluice::completions {

/// Whether the package says that the model makes vectors or scores of texts.
bool is_text_model(const dispatch::ModelRef& model);

/// For PerModel. From now on the model joins requests of one length, whoever sends them.
/// Fails: kInvalidArgument for a model of another kind, or in a worker process; as
///        generate::read_tokenizer.
Result<std::shared_ptr<const embed::TextModel>> read_text_model(const dispatch::ModelRef& model);

struct EmbeddingRequest {
  std::vector<text::Encoding> texts;       ///< or pairs of texts
  std::int64_t deadline_ns = kNoDeadline;  ///< on the model's clock
  std::int32_t priority = 0;               ///< in the model's line
};

/// The vectors of a request's texts. It has one run in the model's line at a time, so that others
/// take turns with a long list; the model's scheduler joins the rows of several requests.
///
///     start --> run in the line --(reply)--> next run ... --> on_done
///                  ^     `--(full line)--> a millisecond later
///                  `-------------------------'
///
/// Safe across threads. A run keeps it alive.
class Embedding : public std::enable_shared_from_this<Embedding> {
 public:
  /// A vector of `width` numbers for each text, or a score.
  using OnDone = std::function<void(Result<std::vector<float>>)>;

  /// `shared` outlives it; the quota of `limits`, which is not null, counts it until its end, and
  /// the limit of a run holds for each of its runs.
  Embedding(std::shared_ptr<dispatch::ModelRef> model,
            std::shared_ptr<const embed::TextModel> texts, EmbeddingRequest request, Shared& shared,
            dispatch::RequestLimits limits);

  /// Called once. `on_done` is called once, on any thread, and must not wait.
  /// Fails: as RequestQuota::enter and RequestSink::submit; then `on_done` is never called.
  Status start(OnDone on_done);
  /// Ends it with kCancelled. May be called again.
  void cancel() { cancel_.cancel(); }

 private:
  Status post();
  void take(const runtime::Reply& reply);
  void go_on();
  void end(const Status& status);
  void leave();

  const std::shared_ptr<dispatch::ModelRef> model_;
  const std::shared_ptr<const embed::TextModel> text_model_;
  const EmbeddingRequest request_;
  Shared& shared_;
  const dispatch::RequestLimits limits_;

  // The thread that has the run uses these members.
  std::vector<embed::Batch> batches_;
  std::size_t next_ = 0;  ///< batch
  std::vector<float> numbers_;
  OnDone on_done_;

  dispatch::LaterCancel cancel_;  ///< of the run
};

}  // namespace sluice::completions

// Which texts of a model take the next step: all that wait go into one run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/byte_budget.h"
#include "base/bytes.h"
#include "base/result.h"
#include "dispatch/flight_table.h"
#include "generate/batch.h"
#include "generate/facts.h"
#include "generate/pages/page_pool.h"
#include "generate/pages/prefix_cache.h"
#include "generate/ports.h"

namespace sluice::completions {

class Generation;

/// Makes steps while texts wait, one at a time. A step is a request in the model's line: first a
/// row for each of its texts that decodes, then pieces of prompts until it has enough tokens. Who
/// waits longest goes first, after those of higher priority, whether it decodes or has a prompt; a
/// text that took a step goes to the end. Texts whose clients have different limits of a run share
/// no step: none is stopped by another's limit. A step that a full line refuses is made again a
/// millisecond later.
///
/// A text begins with the pages of those of its account that began as it does. Pages that are full
/// stay when their texts end, as many as PrefixCaches lets stay.
///
/// Where pages run out, a text takes those that no text has, then those of paused texts, then those
/// of the text that has fewest, after those of lower priority; that one computes its tokens again
/// later. Who finds none waits, and nobody else begins until a text has ended. A text fails for
/// want of pages if no other text has any.
///
///     add --> waiting --> in the step in flight --(reply)--> Generation::take --> waiting ...
///                | ^             |                              |
///                | `-(full line, no pages)                      |
///                `------- cancelled, too late ---------> end <--'
///
/// Safe across threads. A step in flight keeps it alive.
class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  Scheduler(const generate::Facts& facts, const generate::Ports& ports)
      : context_(facts.context), ports_(ports) {}

  /// Gives the text's turn to the scheduler, which gives it back by `take` or `end`.
  /// Fails: if the text would have been in a step that this call began, and is not: as
  ///        RequestSink::submit, but for a full line; kTimeout; kResourceExhausted over the budget
  ///        of caches. The turn is the caller's then.
  Status add(std::shared_ptr<Generation> text);
  /// Takes a text that is cancelled out of the line; then the turn is the caller's. False if it
  /// does not wait. Ends a step in flight that has no other texts. One that pauses is forgotten.
  bool remove(const Generation& text);
  /// Others may take its pages until it is added again, or removed. For `take` of the text.
  void pause(std::shared_ptr<Generation> text);

  generate::PrefixCache& prefixes() { return *prefixes_; }

 private:
  using Texts = std::vector<std::shared_ptr<Generation>>;
  /// The memory of a run. It keeps pages from others until the run has ended, even if its texts and
  /// its request ended before.
  struct Step {
    Step(const generate::Ports& ports, std::int64_t context) : batch(ports, context), logits(0) {}
    Texts texts;
    generate::Batch batch;
    std::vector<std::shared_ptr<generate::Pages>> pages;
    MutableBytes logits;  ///< f32[sequences, vocabulary] at least
  };

  Status run(const Generation* newcomer);
  std::shared_ptr<Generation> take_late();
  bool may_not_begin(const Generation& text) const;
  bool choose();
  Result<bool> join(Step& step, const std::shared_ptr<Generation>& text);
  Result<bool> reserve(const Step& step, const Generation& text);
  Status fill(Step& step);
  void wait_for_pages(const Step& step);
  Status post(const std::shared_ptr<Step>& step);
  Status post_later(const std::shared_ptr<Step>& step);
  void put_back(Step& step);
  runtime::Request request_of(const std::shared_ptr<Step>& step);
  void take(const std::shared_ptr<Step>& step, const runtime::Reply& reply);
  std::shared_ptr<Step> free_step();
  Result<std::shared_ptr<generate::PagePool>> pool_of(const Generation& text);

  const std::int64_t context_;
  const generate::Ports ports_;
  const std::shared_ptr<generate::PrefixCache> prefixes_ =
      std::make_shared<generate::PrefixCache>();

  // The thread that runs uses these members.
  std::weak_ptr<generate::PagePool> pool_;  ///< lives as long as texts or prefixes have pages
  std::vector<std::shared_ptr<Step>> steps_;
  Texts short_;                      ///< of flying_, those that wait for pages
  bool is_short_ = false;            ///< pages ran out, and no text has ended since
  std::int32_t least_priority_ = 0;  ///< of the texts that had pages at the last choice

  std::mutex mutex_;                          ///< guards the rest; nothing is ended or run with it
  Texts waiting_;                             ///< by their time of coming
  Texts flying_;                              ///< chosen for the step that is made or in flight
  Texts paused_;                              ///< their pages go first where others need some
  std::shared_ptr<dispatch::Flight> flight_;  ///< of the step
  bool is_running_ = false;  ///< somebody makes a step, or one is in flight or tried again later
};

}  // namespace sluice::completions

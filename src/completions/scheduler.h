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
#include "generate/ports.h"

namespace sluice::completions {

class Generation;

/// Makes steps while texts wait, one at a time. A step is a request in the model's line: first a
/// row for each of its texts that decodes, then pieces of prompts until it has enough tokens. Who
/// waits longest goes first, after those of higher priority, whether it decodes or has a prompt; a
/// text that took a step goes to the end. A step that a full line refuses is made again a
/// millisecond later.
///
///     add --> waiting --> in the step in flight --(reply)--> Generation::take --> waiting ...
///                | ^             |                              |
///                | `-(full line)-'                              |
///                `--- cancelled, too late, no pages ---> end <--'
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
  /// does not wait. Ends a step in flight that has no other texts.
  bool remove(const Generation& text);

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
  bool choose();
  Status join(Step& step, const std::shared_ptr<Generation>& text);
  Status post(const std::shared_ptr<Step>& step);
  Status post_later(const std::shared_ptr<Step>& step);
  void put_back(Step& step);
  runtime::Request request_of(const std::shared_ptr<Step>& step);
  void take(const std::shared_ptr<Step>& step, const runtime::Reply& reply);
  std::shared_ptr<Step> free_step();
  Result<std::shared_ptr<generate::PagePool>> pool_of(const Generation& text);

  const std::int64_t context_;
  const generate::Ports ports_;

  // Of whoever runs.
  std::weak_ptr<generate::PagePool> pool_;  ///< lives as long as texts have pages
  std::vector<std::shared_ptr<Step>> steps_;

  std::mutex mutex_;                          ///< guards the rest; nothing is ended or run with it
  Texts waiting_;                             ///< by their time of coming
  Texts flying_;                              ///< chosen for the step that is made or in flight
  std::shared_ptr<dispatch::Flight> flight_;  ///< of the step
  bool is_running_ = false;  ///< somebody makes a step, or one is in flight or tried again later
};

}  // namespace sluice::completions

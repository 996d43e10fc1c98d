// A model that remembers: the requests of a sequence run in their order, each with the states that
// the one before it left.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/request/request.h"
#include "sandbox/exchange.h"
#include "service/sequences/sequence_layout.h"

namespace sluice::service {

struct SequenceLimits {
  std::size_t max_sequences = 16'384;
  std::size_t max_of_owner = 4096;  ///< of one account or session
  std::size_t max_waiting = 1024;   ///< requests of one sequence behind the one that runs
};

/// Requests come with a SequencePart, and without the inputs that the sequence has: controls and
/// states. Ids belong to the owner of the request (runtime::Request::exchange_owner), whose quota
/// of the exchange counts the states. Words of refusals are Triton's: its clients look for them.
///
/// A failed request leaves the states as they were. States stay where the model wrote them, but for
/// a model that joins requests: there a state would keep the rows of the others, so it is copied.
///
///     (none) --start--> idle --request--> busy --answer, nothing waits--> idle --time, end-->
///     (none)
///
/// Locks: `mutex_` is never held while the model or an on_done is called.
///
/// Safe from any thread. Always owned by a shared_ptr; requests in flight keep it alive.
class SequenceModel final : public runtime::RequestSink,
                            public std::enable_shared_from_this<SequenceModel> {
 public:
  /// `declared` has sequences. `exchange` outlives this; null: nothing counts the states.
  /// Fails: as lay_out.
  static Result<std::shared_ptr<SequenceModel>> create(std::string name,
                                                       std::shared_ptr<runtime::RequestSink> model,
                                                       const terms::DeclaredModel& declared,
                                                       sandbox::Exchange* exchange,
                                                       const SequenceLimits& limits = {});

  const terms::Signature& signature() const override { return layout_.client; }
  int depth() const override { return model_->depth(); }
  std::int64_t batch_rows() const override { return model_->batch_rows(); }
  Clock& clock() const override { return model_->clock(); }
  std::shared_ptr<const package::Executable> executable() const override {
    return model_->executable();
  }
  /// Fails: kBadInput  the request has no id, or continues what has not begun or has ended;
  ///                   it has several rows; the model cannot take the id
  ///        kOutOfResources  too many sequences
  ///        kQueueFull       too many requests of the sequence wait
  ///        as the model
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return model_->wait(is_done, deadline_ns);
  }
  void tell_waiters() override { model_->tell_waiters(); }

  std::size_t num_sequences() const;

 private:
  struct State {
    terms::TensorView view;
    std::shared_ptr<const void> owner;
    sandbox::ExchangeTable::Room room = nullptr;  ///< null: nothing counts it
  };
  /// The owner, and whether the id is a number, before it.
  using Key = std::pair<std::uint64_t, std::string>;
  struct Turn;
  struct Sequence {
    Key key;
    bool is_busy = false;    ///< a request of it is with the model, or about to be
    bool has_ended = false;  ///< its last request has come
    std::deque<std::shared_ptr<Turn>> waiting;
    std::vector<State> states;
    std::int64_t idle_since_ns = 0;
    std::list<Key>::iterator place;  ///< in idle_, unless it is busy
  };
  struct Turn {
    std::uint64_t id = 0;
    runtime::Request request;  ///< the client's, but while it is being submitted
    std::shared_ptr<Sequence> sequence;
    std::vector<State> states;  ///< that it reads
    std::vector<Bytes> ids;     ///< correlation ids, by control; others are empty
    std::optional<std::uint64_t> model_id;
    bool is_cancelled = false;

    const terms::SequencePart& part() const { return *request.sequence; }
  };

  SequenceModel(std::string name, std::shared_ptr<runtime::RequestSink> model,
                SequenceLayout layout, bool has_rows, std::int64_t max_idle_ns,
                sandbox::Exchange* exchange, const SequenceLimits& limits);
  Status check(const runtime::Request& request) const;
  Result<std::vector<Bytes>> ids_of(const terms::SequencePart& part) const;
  Result<std::shared_ptr<Sequence>> enter(const Key& key, const terms::SequencePart& part);
  Result<std::shared_ptr<Sequence>> begin(const Key& key);
  std::vector<State> first_states() const;
  void expire(std::vector<std::shared_ptr<Sequence>>& expired);
  void remove(const std::shared_ptr<Sequence>& sequence);
  void rest(const std::shared_ptr<Sequence>& sequence);

  Status run(const std::shared_ptr<Turn>& turn);
  runtime::Request request_of(const std::shared_ptr<Turn>& turn);
  terms::TensorView input_of(const Turn& turn, std::size_t input) const;
  void take(const std::shared_ptr<Turn>& turn, runtime::Reply reply);
  Result<std::vector<State>> take_states(const Turn& turn, runtime::Reply& reply) const;
  Result<State> keep(const Turn& turn, terms::OutputTensor output) const;
  std::shared_ptr<Turn> leave(const Turn& turn);
  void go_on(std::shared_ptr<Turn> turn);

  const std::string name_;
  const std::shared_ptr<runtime::RequestSink> model_;
  const SequenceLayout layout_;
  const bool has_rows_;
  const std::int64_t max_idle_ns_;
  sandbox::Exchange* const exchange_;
  const SequenceLimits limits_;
  mutable std::mutex mutex_;  ///< guards the rest, and what it leads to
  std::uint64_t last_id_ = 0;
  std::map<Key, std::shared_ptr<Sequence>> sequences_;
  std::map<std::uint64_t, std::size_t> num_of_owner_;
  std::list<Key> idle_;  ///< longest first
  std::map<std::uint64_t, std::shared_ptr<Turn>> turns_;
};

}  // namespace sluice::service

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
#include <set>
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
/// A failed request leaves the states as they were; a failed START leaves no sequence, so that what
/// comes behind it fails, too. States stay where the model wrote them, but for a model that joins
/// requests: there a state would keep the rows of the others, so it is copied.
///
///     (none) --start--> busy --answer, nothing waits--> idle --request--> busy
///     idle --time, the owner ends--> (none)
///     busy --answer of an END, failed START--> (none)
///
/// The exchange's thread ends idle sequences, and requests whose deadline passes while they wait.
///
/// Locks: `mutex_` is never held while the model, the exchange or an on_done is called.
///
/// Safe from any thread. Always owned by a shared_ptr; requests in flight keep it alive.
class SequenceModel final : public runtime::RequestSink,
                            public sandbox::ExchangeHolder,
                            public std::enable_shared_from_this<SequenceModel> {
 public:
  /// `declared` has sequences. `exchange` outlives this; null: nothing counts the states, and idle
  /// sequences end when the next request comes.
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
  /// A request that waits may get these errors as its answer.
  /// Fails: kBadInput  the request has no id, or continues what has not begun or has ended;
  ///                   it has several rows; the model cannot take the id
  ///        kOutOfResources  too many sequences
  ///        kQueueFull       too many requests of the sequence wait
  ///        as the model
  Result<std::uint64_t> submit(runtime::Request& request) override;
  /// What comes behind a refused START does not continue the sequence that was to end with it.
  void refused(const runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return model_->wait(is_done, deadline_ns);
  }
  void tell_waiters() override { model_->tell_waiters(); }

  std::int64_t expire(std::int64_t now_ns) override;
  /// Requests of the owner that are in flight end first.
  void drop(sandbox::OwnerId owner) override;

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
    bool is_busy = false;         ///< a request of it is with the model, or about to be
    bool is_open = false;         ///< a START was answered, and no END since
    bool has_lost_start = false;  ///< a START was refused, and no other one came since
    bool is_dropped = false;      ///< its owner has ended
    std::deque<std::shared_ptr<Turn>> waiting;
    std::vector<State> states;
    std::int64_t idle_since_ns = 0;
    std::list<Sequence*> node;             ///< with its node of idle_ while it is busy, else empty
    std::list<Sequence*>::iterator place;  ///< that node
  };
  struct Turn {
    std::uint64_t id = 0;
    runtime::Request request;  ///< the client's, but while it is being submitted
    std::shared_ptr<Sequence> sequence;
    /// A device may read first values and flags, which are the layout's, after the answer.
    std::shared_ptr<const SequenceModel> model;
    std::vector<State> states;  ///< that it reads
    std::vector<Bytes> ids;     ///< correlation ids, by control; others are empty
    std::optional<std::uint64_t> model_id;
    bool is_cancelled = false;

    const terms::SequencePart& part() const { return *request.sequence; }
  };

  SequenceModel(std::string name, std::shared_ptr<runtime::RequestSink> model,
                SequenceLayout layout, bool has_rows, std::int64_t max_idle_ns,
                sandbox::Exchange* exchange, const SequenceLimits& limits);
  Result<std::uint64_t> accept(runtime::Request& request);
  Status check(const runtime::Request& request) const;
  Result<std::vector<Bytes>> ids_of(const terms::SequencePart& part) const;
  Status not_started(const terms::SequencePart& part) const;
  Status enter(const std::shared_ptr<Turn>& turn, const Key& key, const runtime::Request& request);
  void undo_enter(const std::shared_ptr<Turn>& turn, std::int64_t deadline_ns);
  Result<std::shared_ptr<Sequence>> find_or_begin(const Key& key, const terms::SequencePart& part);
  Result<std::shared_ptr<Sequence>> begin(const Key& key);
  std::vector<State> first_states() const;
  void rest(Sequence& sequence);
  void rouse(Sequence& sequence);
  void remove(Sequence& sequence);
  void end_idle(std::int64_t now_ns);
  std::shared_ptr<Sequence> take_idle(std::int64_t now_ns);
  std::shared_ptr<Turn> find_late(std::int64_t now_ns) const;
  std::optional<runtime::Request> end_waiting(const std::shared_ptr<Turn>& turn);
  std::int64_t next_look_ns() const;
  std::int64_t earlier_look_ns();
  void look_at(std::int64_t at_ns) const;

  Status run(const std::shared_ptr<Turn>& turn);
  runtime::Request request_of(const std::shared_ptr<Turn>& turn);
  terms::TensorView input_of(const Turn& turn, std::size_t input) const;
  void take(const std::shared_ptr<Turn>& turn, runtime::Reply reply);
  Result<std::vector<State>> take_states(const Turn& turn, runtime::Reply& reply) const;
  Result<State> keep(const Turn& turn, std::size_t index, terms::OutputTensor output) const;
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
  std::list<Sequence*> idle_;  ///< longest first
  std::map<std::uint64_t, std::shared_ptr<Turn>> turns_;
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;  ///< of turns that wait, with ids
  std::int64_t look_ns_ = kNoDeadline;  ///< when the exchange's thread comes next
};

}  // namespace sluice::service

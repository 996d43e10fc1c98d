// A call on a stream of HTTP/2.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/server/reactor/call_context.h"
#include "rpc/server/reactor/methods.h"
#include "rpc/server/reactor/reactor.h"
#include "rpc/server/session/call_queue.h"
#include "rpc/server/session/message_reader.h"
#include "rpc/wire/coded_message.h"

namespace sluice::rpc::server {

class Session;

/// What all calls of a server share.
struct CallSettings {
  const Methods& methods;
  std::int64_t max_message_bytes = 0;  ///< each way
  std::shared_ptr<ByteBudget> memory;  ///< of messages on their way in
};

///     head --> (the request comes) --> handler --> answers --> status --> closed
///       |              |                  |           |
///       +-- is wrong --+------------------+-----------+--> refused --> closed
///
/// A call is *closed* once its stream has ended, and *done* once its handler has finished it, too.
/// All but what CallContext has is called on the loop's thread.
class Call final : public CallContext, public std::enable_shared_from_this<Call> {
 public:
  using StreamId = std::int32_t;
  using Field = std::pair<std::string, std::string>;
  /// Limit of a decoded head.
  static constexpr std::size_t kMostHeadBytes = 16 << 10;

  Call(Session& session, StreamId id, const CallSettings& settings, CallQueue& queue);
  ~Call() override;

  const terms::Peer& peer() const override { return *peer_; }
  std::uint64_t connection() const override { return connection_; }
  std::string_view metadata(std::string_view name) const override;
  std::int64_t deadline_ns() const override { return deadline_ns_; }
  bool is_cancelled() const override { return is_cancelled_.load(); }
  void add_initial_metadata(std::string_view name, std::string_view value) override {
    initial_.emplace_back(name, value);
  }
  void add_trailing_metadata(std::string_view name, std::string_view value) override;
  void finish(const grpc::Status& status) override;
  void cancel() override;

  // For the session.

  StreamId id() const { return id_; }
  /// False: the head is far too large.
  bool take_field(std::string_view name, std::string_view value);
  void end_head();
  void take(std::string_view bytes);
  /// The client has sent all.
  void end_request();
  bool has_all() const { return has_all_; }
  /// How many bytes of messages wait to be sent, up to `most`.
  std::size_t num_unsent(std::size_t most) const;
  /// Appends the next `num` bytes to `to`. Requires: as many are unsent.
  void send(std::size_t num, std::string& to);
  /// No message comes behind those that wait.
  bool is_answered() const { return is_answered_; }
  const std::vector<Field>& initial() const { return initial_; }
  /// The status and what goes with it.
  std::vector<Field> trailer() const;
  /// The status was sent.
  void note_sent() { is_sent_ = true; }
  /// The stream has ended, or the connection.
  void close();
  /// Its handler works on it, and the stream has ended.
  bool is_lost() const { return is_started_ && is_closed_ && !is_done_; }
  /// The calls of the connection that are lost; the call counts itself out.
  void count_as_lost(std::shared_ptr<std::size_t> num_lost);

  // For the queue.

  void carry_out(Ask ask);
  void react(const Event& event);
  /// Its deadline has passed, or its timer is over.
  void expire(bool is_timer);

 private:
  void attach(Reactor* reactor) override { reactor_ = reactor; }
  void start_read(google::protobuf::Message& to) override;
  void start_write(OutMessage message) override;
  void start_timer(std::int64_t delay_ns) override;

  std::optional<grpc::Status> find_fault() const;
  grpc::Status read(const MessageReader::Message& message);
  void start();
  void deliver();
  void write(OutMessage message);
  void end(Ask ask);
  void refuse(grpc::Status status);
  void cancel_work();
  void settle();
  void drop(std::optional<CallQueue::Deadline>& deadline);
  void add(Event::Kind kind, bool is_ok = true) { queue_.add({shared_from_this(), kind, is_ok}); }

  struct Outgoing {
    OutMessage message;
    bool is_response = false;  ///< the only one: nobody waits for it
  };

  const StreamId id_;
  const CallSettings& settings_;
  CallQueue& queue_;
  const std::uint64_t connection_;
  const std::shared_ptr<const terms::Peer> peer_;
  Session* session_;  ///< null once it is closed
  const Method* method_ = nullptr;

  std::size_t head_bytes_ = 0;
  std::vector<Field> metadata_;
  std::string path_;
  std::string http_method_;
  std::string content_type_;
  wire::Coding coding_ = wire::Coding::kNone;
  std::string unknown_coding_;
  bool has_bad_timeout_ = false;
  std::int64_t deadline_ns_;
  std::optional<CallQueue::Deadline> deadline_;
  std::optional<CallQueue::Deadline> timer_;

  MessageReader reader_;
  std::size_t num_held_ = 0;  ///< bytes that came and that the client may not replace yet
  std::unique_ptr<CallMessages> messages_;
  google::protobuf::Message* wanted_ = nullptr;  ///< is filled next
  Reactor* reactor_ = nullptr;                   ///< null: it needs none
  std::deque<Outgoing> out_;
  std::vector<Field> initial_;
  std::vector<Field> trailing_;
  grpc::Status status_;
  std::shared_ptr<std::size_t> num_lost_;
  std::shared_ptr<Call> self_;  ///< from its handler to its end
  std::atomic<bool> is_cancelled_ = false;
  bool has_all_ = false;
  bool is_started_ = false;   ///< the handler was called
  bool is_answered_ = false;  ///< the status is known
  bool is_finished_ = false;  ///< the handler finished it
  bool is_sent_ = false;
  bool is_closed_ = false;
  bool is_done_ = false;
};

}  // namespace sluice::rpc::server

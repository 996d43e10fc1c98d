// A session: a client's lease on what it loaded and reserved.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "dispatch/posted_table.h"
#include "dispatch/request_quota.h"
#include "sandbox/exchange_table.h"
#include "service/clients/client_memory.h"
#include "shm/region.h"
#include "terms/server/server.h"
#include "terms/tensors/exchange.h"

namespace sluice::service {

/// Limits of one session.
struct SessionQuota {
  std::int32_t max_sessions = 1024;  ///< open ones of one account
  std::int32_t max_models = 256;
  std::int32_t max_cores = 1 << 20;
  std::int64_t max_in_flight = 4096;
  std::int32_t max_regions = 64;                          ///< of shared memory, rings included
  std::int64_t max_region_bytes = std::int64_t{1} << 30;  ///< all of them together
  /// Limit of answers that wait until the client reads them.
  std::int64_t max_answer_bytes = std::int64_t{1} << 30;
};

/// What the session holds, by handle, until it is closed. Safe across threads.
///
///     open --close--> closed: takes nothing more
class ClientSession {
 public:
  /// `memory`: of the account that the session belongs to.
  ClientSession(terms::SessionId id, std::string client, terms::Peer peer, std::string token,
                std::int64_t opened_ns, const SessionQuota& quota,
                std::shared_ptr<const AccountMemory> memory)
      : id_(id),
        owner_{static_cast<std::uint64_t>(id)},
        client_(std::move(client)),
        peer_(std::move(peer)),
        token_(std::move(token)),
        opened_ns_(opened_ns),
        quota_(quota),
        requests_(std::make_shared<dispatch::RequestQuota>(quota.max_in_flight)),
        memory_(std::move(memory)),
        answers_(std::make_shared<ByteBudget>(quota.max_answer_bytes, memory_->answers)) {}

  terms::SessionId id() const { return id_; }
  /// Owner of its tensors in the exchange.
  sandbox::OwnerId owner() const { return owner_; }
  /// Requires: nobody uses it yet.
  void set_owner(sandbox::OwnerId owner) { owner_ = owner; }
  const std::string& client() const { return client_; }
  const terms::Peer& peer() const { return peer_; }
  const std::string& token() const { return token_; }
  terms::SessionInfo info(std::int64_t now_ns) const;

  /// Fails: kCancelled once the session is closed. Requests that it left behind get this answer:
  /// what they name has gone with it.
  Status check_open() const;

  /// Makes the session the owner of the model. `num_cores`: the cores of its implicit group.
  /// Fails: kOutOfResources over the quota; kCancelled if the session is closed. The caller keeps
  /// the model on failure.
  Status add_model(terms::ModelHandle model, std::int32_t num_cores);
  Status add_group(terms::CoreGroupId group, std::int32_t num_cores);
  void remove_model(terms::ModelHandle model);
  void remove_group(terms::CoreGroupId group);

  /// Shared memory, under a handle that nobody else has. Fails: as add_model.
  Status add_region(std::uint64_t handle, std::shared_ptr<shm::Region> region);
  /// How to end the ring in a region; it blocks, and may be called twice.
  /// Fails: kCancelled if the region was taken away meanwhile.
  Status set_ring(std::uint64_t handle, std::function<void()> stop_ring);
  /// Null if the session has no region with this handle.
  std::shared_ptr<const shm::Region> find_region(std::uint64_t handle) const;
  struct HeldRegion {
    std::uint64_t handle = 0;
    std::shared_ptr<shm::Region> region;  ///< null if there was none
    std::function<void()> stop_ring;
    std::optional<terms::NamedRegion> named;  ///< a part of it that has a name

    /// That the session's quota counts.
    std::int64_t size_bytes() const;
  };
  /// As add_region. Requires: the part lies in the region. Fails also: kInvalid where the name is
  /// taken.
  Status add_named(std::uint64_t handle, std::shared_ptr<shm::Region> region,
                   terms::NamedRegion named);
  /// A region of its name; without a region if there is none.
  HeldRegion find_named(std::string_view name) const;
  HeldRegion remove_region(std::uint64_t handle);
  std::vector<HeldRegion> list_regions() const;

  /// A ring of the session has brought a request.
  void count_ring_request() { ++num_ring_requests_; }

  /// Quota of the session's requests in flight; refuses with kCancelled once the session is closed.
  const std::shared_ptr<dispatch::RequestQuota>& requests() const { return requests_; }

  /// Requests whose replies wait in the session.
  dispatch::PostedTable& posted() const { return *posted_; }
  std::shared_ptr<dispatch::PostedTable> shared_posted() const { return posted_; }

  /// What pays for all that the session makes the daemon hold, answers that it has read included.
  const AccountMemory& memory() const { return *memory_; }
  /// Bytes of the answers that the session has not read yet.
  const std::shared_ptr<ByteBudget>& answers() const { return answers_; }

  /// A load or an unload goes on while this lives: a session that ends waits for it. A load should
  /// end soon after `stop_token` is requested, which closing does. The session outlives it.
  class Load {
   public:
    Load(Load&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
    Load& operator=(Load&&) = delete;
    ~Load() {
      if (session_ != nullptr) session_->leave_load();
    }

   private:
    friend class ClientSession;
    explicit Load(ClientSession* session) : session_(session) {}
    ClientSession* session_;
  };
  /// Fails: kCancelled.
  Result<Load> enter_load();
  std::stop_token stop_token() const { return stop_.get_token(); }
  /// Returns when neither goes on. Requires: closed, so that none starts.
  void wait_for_loads();

  /// Called once, when the session closes, with the reason. Replaces an earlier listener; an empty
  /// function for none. If it is closed already, nothing is called and false returned.
  bool on_close(std::function<void(const Status&)> listener);

  struct Holdings {
    std::vector<terms::ModelHandle> models;
    std::vector<terms::CoreGroupId> groups;
    std::vector<HeldRegion> regions;
  };
  /// Closes the session: calls its listener, then returns its holdings. A second call returns none.
  Holdings close(const Status& reason);

 private:
  void leave_load();
  /// Requires: mutex_ is held.
  Status check_still_open() const;
  Status add(HeldRegion held);
  Status check_cores(std::int32_t more) const;

  const terms::SessionId id_;
  sandbox::OwnerId owner_;
  const std::string client_;
  const terms::Peer peer_;
  const std::string token_;
  const std::int64_t opened_ns_;
  const SessionQuota quota_;
  const std::shared_ptr<dispatch::RequestQuota> requests_;
  const std::shared_ptr<dispatch::PostedTable> posted_ = std::make_shared<dispatch::PostedTable>();
  const std::shared_ptr<const AccountMemory> memory_;
  const std::shared_ptr<ByteBudget> answers_;
  mutable std::mutex mutex_;
  bool is_closed_ = false;
  std::int32_t num_cores_ = 0;
  std::map<terms::ModelHandle, std::int32_t> models_;  ///< with the cores of its own group
  std::map<terms::CoreGroupId, std::int32_t> groups_;
  std::map<std::uint64_t, HeldRegion> regions_;
  std::int64_t region_bytes_ = 0;
  std::atomic<std::int64_t> num_ring_requests_ = 0;
  int num_loads_ = 0;
  std::condition_variable no_loads_;
  std::function<void(const Status&)> listener_;
  std::stop_source stop_;
};

/// The open sessions. Safe across threads.
class SessionTable {
 public:
  /// `memory` outlives the table.
  SessionTable(const SessionQuota& quota, ClientMemory& memory, std::size_t most = 4096)
      : most_(most), memory_(memory), quota_(quota) {}

  /// Sets the quota of sessions that open from now on.
  void set_quota(const SessionQuota& quota);
  /// With a token of 128 random bits. Fails: kOutOfResources for too many of all or of the peer's
  /// account; kUnavailable once closed.
  Result<std::shared_ptr<ClientSession>> open(std::string client, terms::Peer peer,
                                              std::int64_t now_ns);
  /// Null if no open session has this token, or id.
  std::shared_ptr<ClientSession> find(std::string_view token) const;
  std::shared_ptr<ClientSession> find(terms::SessionId id) const;
  /// It is found no longer. False if it was not there.
  bool remove(terms::SessionId id);
  /// By id.
  std::vector<std::shared_ptr<ClientSession>> all() const;
  /// No session opens any more.
  void close();

 private:
  Status check_room(const std::string& account) const;

  const std::size_t most_;
  ClientMemory& memory_;
  mutable std::mutex mutex_;
  SessionQuota quota_;
  bool is_closed_ = false;
  std::uint64_t next_id_ = 1;
  std::map<terms::SessionId, std::shared_ptr<ClientSession>> by_id_;
  std::map<std::string, terms::SessionId, std::less<>> by_token_;
  std::map<std::string, std::int32_t> num_of_account_;
};

/// Clients without a session share holdings and a quota with the other such clients of their
/// account, so that no user and no token takes what the others need. Safe across threads.
class CommonHoldings {
 public:
  /// `on_new` gets the session of an account before any caller does. `memory` outlives this.
  CommonHoldings(const SessionQuota& quota, ClientMemory& memory, std::int64_t started_ns,
                 std::function<void(const ClientSession&)> on_new)
      : quota_(quota), memory_(memory), started_ns_(started_ns), on_new_(std::move(on_new)) {}

  /// A session with the id kNobody that never closes.
  std::shared_ptr<ClientSession> of(const std::string& account);
  /// The daemon's own: no quota bounds what its administrator lists in the settings.
  std::shared_ptr<ClientSession> of_daemon();
  /// Removes the model from whichever account has it.
  void remove_model(terms::ModelHandle model);
  void remove_group(terms::CoreGroupId group);

 private:
  std::shared_ptr<ClientSession> find(const std::string& account, const SessionQuota& quota);

  const SessionQuota quota_;
  ClientMemory& memory_;
  const std::int64_t started_ns_;
  const std::function<void(const ClientSession&)> on_new_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ClientSession>> by_account_;
};

}  // namespace sluice::service

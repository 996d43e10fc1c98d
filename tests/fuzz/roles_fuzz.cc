// Any bytes as calls of three users of a Service, with rules that change in between. A model of the
// rules, written for this, says of each call whether it is allowed; the service must agree, and
// must have released everything in the end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "runtime/engine.h"
#include "runtime/inference/thread_driver.h"
#include "service/service.h"

namespace {

namespace service = sluice::service;
namespace terms = sluice::terms;
namespace topology = sluice::topology;
using terms::Role;

constexpr std::int32_t kCores = 8;
constexpr std::int32_t kQuotaCores = 3;
constexpr std::int32_t kQuotaSessions = 2;
constexpr std::size_t kUsers = 3;
constexpr std::size_t kMaxCalls = 96;
constexpr std::int64_t kFirstUser = 4'000'001;
constexpr std::int64_t kGroup = 4'000'100;  ///< of the second user

/// The bits of Role, control with monitor.
using Bits = unsigned;
constexpr Bits kMonitor = 1;
constexpr Bits kInference = 2;
constexpr Bits kControl = 4;

Bits with_monitor(Bits bits) { return (bits & kControl) != 0 ? bits | kMonitor : bits; }

terms::Roles roles_of(Bits bits) {
  terms::Roles roles;
  for (const Role role : {Role::kMonitor, Role::kInference, Role::kControl}) {
    if ((bits & static_cast<Bits>(role)) != 0) roles.add(role);
  }
  return roles;
}

topology::DeviceMap eight_cores() {
  topology::DeviceMap map;
  terms::Device device;
  device.kind = "cpu";
  device.name = "pretended";
  device.num_cores = kCores;
  device.cpus.assign(kCores, {0});
  map.devices = {device};
  return map;
}

void expect(bool is_so) {
  if (!is_so) std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_over() const { return at_ >= size_; }
  unsigned next() { return is_over() ? 0 : data_[at_++]; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// The rules, plainly: absent ones are nullopt.
struct Rules {
  std::optional<Bits> first_user;
  std::optional<Bits> second_group;
  std::optional<Bits> others;
  Bits token = 0;
  bool requires_session = false;

  Bits of(std::size_t user) const {
    if (user == 2) return with_monitor(token);
    if (!first_user && !second_group && !others) return kMonitor | kInference | kControl;
    const std::optional<Bits>& named = user == 0 ? first_user : second_group;
    return with_monitor(named ? *named : others.value_or(0));
  }
};

struct Session {
  std::shared_ptr<service::ClientSession> held;
  std::size_t user = 0;
  std::int32_t cores = 0;
};

/// `session` is null for a thing that no session made.
struct Thing {
  std::uint64_t handle = 0;
  std::shared_ptr<service::ClientSession> session;
  std::size_t user = 0;
};

class Play {
 public:
  Play(service::Service& service, Bytes& bytes) : service_(service), bytes_(bytes) {}

  void run() {
    change_rules();
    for (std::size_t i = 0; i < kMaxCalls && !bytes_.is_over(); ++i) {
      const unsigned what = bytes_.next() % 8;
      user_ = bytes_.next() % kUsers;
      choose_session(bytes_.next());
      call(what, bytes_.next());
    }
    clean_up();
  }

 private:
  terms::Peer peer() const {
    if (user_ == 2) {
      terms::Peer remote = {"127.0.0.1:1"};
      remote.token = "t";
      remote.token_roles = roles_of(rules_.token);
      return remote;
    }
    terms::Peer local = {"unix:/s", 1, kFirstUser + static_cast<std::int64_t>(user_), 1};
    if (user_ == 1) local.more_groups = {kGroup};
    return local;
  }

  void choose_session(unsigned number) {
    const std::size_t choice = number % (sessions_.size() + 1);
    session_ = choice == 0 ? nullptr : &sessions_[choice - 1];
  }

  /// The token of a session serves its own user alone.
  bool may_use_session() const { return session_ == nullptr || session_->user == user_; }
  bool has(Bits role) const { return (rules_.of(user_) & role) != 0; }

  /// Empty: the call is refused for its role, as it must be.
  std::optional<service::Caller> caller(Role role) {
    const std::string token = session_ == nullptr ? "" : session_->held->token();
    auto caller = service_.caller_of(role, token, peer());
    const Bits bits = static_cast<Bits>(role);
    const bool is_allowed = role == Role::kAny ? rules_.of(user_) != 0 : has(bits);
    expect(caller.is_ok() == (is_allowed && may_use_session()));
    if (caller.is_ok()) return std::move(*caller);
    expect(caller.status().code() ==
           (is_allowed ? sluice::Code::kUnauthenticated : sluice::Code::kPermissionDenied));
    return std::nullopt;
  }

  bool may_change() const { return session_ != nullptr || !rules_.requires_session; }

  bool owns(const Thing& thing) const {
    if (thing.session != nullptr) return session_ != nullptr && session_->held == thing.session;
    return thing.user == user_;
  }

  void call(unsigned what, unsigned detail) {
    switch (what) {
      case 0: open_session(); break;
      case 1: kill_session(detail); break;
      case 2: create_group(); break;
      case 3: destroy_group(detail); break;
      case 4: put_tensor(); break;
      case 5: get_tensor(detail); break;
      case 6: start_or_stop_profile(detail); break;
      default: change_rules(); break;
    }
  }

  void change_rules() {
    const unsigned which = bytes_.next();
    const auto bits = [&](unsigned bit) {
      const unsigned byte = bytes_.next() & 7U;
      return (which & bit) != 0 ? std::optional<Bits>(byte) : std::nullopt;
    };
    rules_ = {bits(1), bits(2), bits(4), bytes_.next() & 7U, (which & 8U) != 0};
    service::ServiceOptions options = service_.options();
    using Who = service::RoleRule::Who;
    options.roles.clear();
    const auto add = [&](Who who, std::int64_t id, const std::optional<Bits>& bits_of_rule) {
      if (bits_of_rule) options.roles.push_back({who, id, {}, roles_of(*bits_of_rule)});
    };
    add(Who::kUser, kFirstUser, rules_.first_user);
    add(Who::kGroup, kGroup, rules_.second_group);
    add(Who::kOthers, -1, rules_.others);
    options.requires_session = rules_.requires_session;
    service_.set_options(options);
  }

  void open_session() {
    session_ = nullptr;
    const auto by = caller(Role::kAny);
    if (!by) return;
    const auto open = std::ranges::count(sessions_, user_, &Session::user);
    auto made = service_.open_session("fuzz", by->peer);
    expect(made.is_ok() == (open < kQuotaSessions));
    if (made.is_ok()) sessions_.push_back({std::move(*made), user_});
  }

  void kill_session(unsigned number) {
    const auto by = caller(Role::kControl);
    if (!by || sessions_.empty()) return;
    const std::size_t at = number % sessions_.size();
    const bool may = sessions_[at].user == user_ || session_ == &sessions_[at];
    const auto killed = sessions_[at].held;
    expect(service_.kill_session(*by, killed->id()).is_ok() == may);
    if (may) forget(at);
  }

  void forget(std::size_t at) {
    const auto gone = sessions_[at].held;
    for (auto* things : {&groups_, &tensors_, &profiles_}) {
      std::erase_if(*things, [&](const Thing& thing) { return thing.session == gone; });
    }
    sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::int32_t& cores_in_use() {
    return session_ == nullptr ? common_cores_[user_] : session_->cores;
  }

  void create_group() {
    const auto by = caller(Role::kControl);
    if (!by) return;
    terms::CoreRequest one_core;
    one_core.num_cores = 1;
    const auto group = service_.create_group(*by, one_core);
    const bool has_room = groups_.size() < kCores && cores_in_use() < kQuotaCores;
    expect(group.is_ok() == (may_change() && has_room));
    if (!group.is_ok()) return;
    ++cores_in_use();
    groups_.push_back(thing_of(static_cast<std::uint64_t>(group->info.id.value())));
  }

  Thing thing_of(std::uint64_t handle) const {
    return {handle, session_ == nullptr ? nullptr : session_->held, user_};
  }

  void destroy_group(unsigned number) {
    const auto by = caller(Role::kControl);
    if (!by || groups_.empty()) return;
    const auto at = groups_.begin() + static_cast<std::ptrdiff_t>(number % groups_.size());
    const terms::CoreGroupId id(static_cast<std::int32_t>(at->handle));
    // Without a session or with one, a user may remove a group that was made without a session.
    const bool may = may_change() && owns(*at);
    expect(service_.destroy_group(*by, id).is_ok() == may);
    if (!may) return;
    if (at->session == nullptr) {
      --common_cores_[at->user];
    } else {
      --session_->cores;
    }
    groups_.erase(at);
  }

  void put_tensor() {
    const auto by = caller(Role::kInference);
    if (!by) return;
    float value = 1;
    const auto index = service_.put_tensor(*by, {&value, 4, sluice::ir::ElementType::kF32, {}}, 0);
    expect(index.is_ok() == may_change());
    if (index.is_ok()) tensors_.push_back(thing_of(static_cast<std::uint64_t>(*index)));
  }

  void get_tensor(unsigned number) {
    const auto by = caller(Role::kInference);
    if (!by || tensors_.empty()) return;
    const Thing& tensor = tensors_[number % tensors_.size()];
    const sluice::terms::TensorIndex index{tensor.handle};
    const bool is_own =
        tensor.session == nullptr ? session_ == nullptr && tensor.user == user_ : owns(tensor);
    expect(service_.exchange().get(by->session->owner(), index).is_ok() == is_own);
  }

  void start_or_stop_profile(unsigned number) {
    constexpr std::size_t kMaxProfiles = 4;
    const auto by = caller(Role::kMonitor);
    if (!by) return;
    if (number % 2 == 0) {
      sluice::terms::ProfileSettings settings;
      settings.max_spans = 16;
      const auto profile = service_.start_profile(*by, settings);
      expect(profile.is_ok() == (may_change() && profiles_.size() < kMaxProfiles));
      if (profile.is_ok()) profiles_.push_back(thing_of(*profile));
    } else if (!profiles_.empty()) {
      const auto at =
          profiles_.begin() + static_cast<std::ptrdiff_t>(number / 2 % profiles_.size());
      const bool may = owns(*at);
      expect(service_.stop_profile(*by, at->handle).is_ok() == may);
      if (may) profiles_.erase(at);
    }
  }

  /// As root, without rules.
  void clean_up() {
    service::ServiceOptions options = service_.options();
    options.roles.clear();
    options.requires_session = false;
    service_.set_options(options);
    const auto root = service_.caller_of(Role::kControl, "", {"unix:/s", 1, 0, 0}).value();
    while (!sessions_.empty()) {
      expect(service_.kill_session(root, sessions_.front().held->id()).is_ok());
      forget(0);
    }
    for (const Thing& group : groups_) {
      const terms::CoreGroupId id(static_cast<std::int32_t>(group.handle));
      expect(service_.destroy_group(root, id).is_ok());
    }
    for (const Thing& profile : profiles_) {
      expect(service_.stop_profile(root, profile.handle).is_ok());
    }
    for (std::size_t user = 0; user < kUsers; ++user) {
      user_ = user;
      const auto by = service_.caller_of(Role::kAny, "", user == 2 ? with_any_role() : peer());
      service_.exchange().drop(by->session->owner());
      service_.exchange().add(by->session->owner());  // the account goes on with the next input
    }
    expect(service_.server().num_free_cores == kCores && service_.list_sessions().empty());
  }

  terms::Peer with_any_role() const {
    terms::Peer remote = peer();
    remote.token_roles = terms::Roles::all();
    return remote;
  }

  service::Service& service_;
  Bytes& bytes_;
  Rules rules_;
  std::size_t user_ = 0;
  Session* session_ = nullptr;  ///< whose token the call brings
  std::int32_t common_cores_[kUsers] = {};
  std::vector<Session> sessions_;
  std::vector<Thing> groups_;
  std::vector<Thing> tensors_;
  std::vector<Thing> profiles_;
};

struct Fixture {
  sluice::backend::BackendRegistry backends;
  sluice::runtime::ThreadDrivers drivers;
  sluice::runtime::Engine engine{backends, drivers, {eight_cores()}};
  service::NoLog log;
  service::Service service{engine, eight_cores(), options(), log};

  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.quota.max_cores = kQuotaCores;
    options.quota.max_sessions = kQuotaSessions;
    return options;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  Bytes bytes(data, size);
  Play(fixture.service, bytes).run();
  return 0;
}

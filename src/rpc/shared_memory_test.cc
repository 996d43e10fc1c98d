// Tensors in shared memory and requests through a ring, by clients that behave and clients that do
// not: each call has an answer that says so, and the server goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "rpc/client/client.h"
#include "rpc/client/side_client.h"
#include "rpc/server/side_socket.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"
#include "shm/ring_client.h"
#include "support/eventually.h"
#include "support/process.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using sluice::testing::ProcessFigures;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kHuge = ~std::uint64_t{0};
const std::vector<float> kAnswer = {3, 0, 5, 0};  // of x = 2

/// Figures of this process, which is client and server.
ProcessFigures figures() { return sluice::testing::figures_of(getpid()); }

class SharedMemoryTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  SharedMemoryTest() : ServingTest(options()) {
    terms::LoadOptions load;
    load.depth = 4;
    const auto model = client(false, false)->upload(load, package_);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    model_ = model->info.handle;
  }
  ~SharedMemoryTest() override {
    // Whatever came before, the server still answers and its model still runs.
    const auto last = client(true);
    EXPECT_EQ(infer(*last, 2), kAnswer);
    stop();
  }

  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.quota.max_regions = 4;
    options.quota.max_region_bytes = std::int64_t{64} << 20;
    return options;
  }

  std::unique_ptr<client::Client> client(bool uses_ring, bool has_session = true) const {
    client::ClientOptions options;
    options.address = address();
    options.uses_ring = uses_ring;
    auto client = std::move(client::Client::create(options)).value();
    if (has_session) {
      EXPECT_TRUE(client->open_session("test").is_ok());
    }
    return client;
  }

  std::vector<float> infer(client::Client& client, float value) const {
    const std::vector<float> x(4, value);
    std::vector<float> y;
    do {  // a model takes so many requests at a time, of whoever comes first
      y = answer(client, x.data(), {});
    } while (terms::runtime_code_of(status_) == RuntimeCode::kQueueFull);
    return y;
  }
  /// Empty if it fails; `status_` says why.
  std::vector<float> answer(client::Client& client, const void* x,
                            const client::InferOptions& options) const {
    const terms::TensorView view = {const_cast<void*>(x), 16, ir::ElementType::kF32, {4}};
    const auto reply = client.infer(model_, {{"x", view}}, options);
    status_ = reply.is_ok() ? ok_status() : reply.status();
    if (!reply.is_ok()) return {};
    const auto* y = static_cast<const float*>(reply->outputs.at(0).view.data);
    return {y, y + 4};
  }

  std::uint64_t model_ = 0;
  mutable Status status_;
};

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

TEST_F(SharedMemoryTest, InputsAndOutputsMayEachBeSharedOrNot) {
  for (const bool uses_ring : {false, true}) {
    const auto own = client(uses_ring);
    const auto shared = own->share(4096);
    ASSERT_TRUE(shared.is_ok()) << shared.status().to_string();
    auto* x = reinterpret_cast<float*>((*shared)->memory().data());
    auto* y = x + 16;
    std::fill_n(x, 4, 2.0F);
    const std::vector<float> unshared(4, 2.0F);
    client::InferOptions into_y;
    into_y.outputs = {{y, 64}};
    for (int i = 0; i < 10; ++i) {
      std::fill_n(y, 4, -1.0F);
      EXPECT_EQ(answer(*own, x, {}), kAnswer) << status_.to_string();
      EXPECT_EQ(answer(*own, unshared.data(), {}), kAnswer) << status_.to_string();
      EXPECT_EQ(*y, -1.0F);
      EXPECT_EQ(answer(*own, x, into_y), kAnswer) << status_.to_string();
      EXPECT_EQ(std::vector<float>(y, y + 4), kAnswer);
      std::fill_n(y, 4, -1.0F);
      EXPECT_EQ(answer(*own, unshared.data(), into_y), kAnswer) << status_.to_string();
      EXPECT_EQ(std::vector<float>(y, y + 4), kAnswer);
    }
    EXPECT_EQ(own->list_regions()->size(), uses_ring ? 2U : 1U);
  }
}

TEST_F(SharedMemoryTest, OutputMayOverwriteItsInput) {
  const auto own = client(false);
  const auto shared = own->share(4096).value();
  auto* x = reinterpret_cast<float*>(shared->memory().data());
  std::fill_n(x, 4, 2.0F);
  client::InferOptions into_x;
  into_x.outputs = {{x, 16}};
  EXPECT_EQ(answer(*own, x, into_x), kAnswer) << status_.to_string();
}

TEST_F(SharedMemoryTest, OutputWithoutRoomSaysHowMuchItNeeds) {
  for (const bool uses_ring : {false, true}) {
    const auto own = client(uses_ring);
    const auto shared = own->share(4096).value();
    client::InferOptions options;
    options.outputs = {{shared->memory().data(), 15}};
    const std::vector<float> x(4, 2.0F);
    EXPECT_TRUE(answer(*own, x.data(), options).empty());
    EXPECT_THAT(status_.message(), HasSubstr("has 16 bytes, and there is room for 15"));
    options.outputs = {{const_cast<float*>(x.data()), 16}};
    EXPECT_TRUE(answer(*own, x.data(), options).empty());
    EXPECT_EQ(status_.code(), Code::kInvalidArgument) << status_.to_string();
  }
}

TEST_F(SharedMemoryTest, ManyThreadsShareARing) {
  const auto own = client(true);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::vector<float> x(4, static_cast<float>(t * 1000 + i));
        const terms::TensorView view = {
            const_cast<float*>(x.data()), 16, ir::ElementType::kF32, {4}};
        const auto reply = own->infer(model_, {{"x", view}});
        if (!reply.is_ok()) {
          if (code_of(reply.status()) != RuntimeCode::kQueueFull) ++wrong;
        } else if (*static_cast<const float*>(reply->outputs[0].view.data) != x[0] + 1) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SharedMemoryTest, RingErrorsEqualGrpcErrors) {
  const auto with_ring = client(true);
  const auto without = client(false);
  const std::vector<float> x(5, 1.0F);
  const terms::TensorView view = {const_cast<float*>(x.data()), 20, ir::ElementType::kF32, {5}};
  const Status one = with_ring->infer(model_, {{"x", view}}).status();
  const Status other = without->infer(model_, {{"x", view}}).status();
  EXPECT_EQ(one.code(), other.code());
  EXPECT_EQ(code_of(one), code_of(other));
  EXPECT_EQ(one.message(), other.message());
}

TEST_F(SharedMemoryTest, RegionsBelongToTheirSessionAndEndWithIt) {
  const auto keeper = client(false);
  EXPECT_EQ(infer(*keeper, 2), kAnswer);
  const ProcessFigures before = figures();
  {
    const auto one = client(true);
    const auto other = client(true);
    const auto shared = one->share(4096).value();
    EXPECT_EQ(infer(*one, 2), kAnswer);
    EXPECT_EQ(infer(*other, 2), kAnswer);
    EXPECT_EQ(code_of(other->unregister_region(shared->region())), RuntimeCode::kInvalidHandle);
    EXPECT_EQ(other->list_regions()->size(), 1U) << "its ring";
    EXPECT_TRUE(one->unregister_region(shared->region()).is_ok());
    EXPECT_EQ(code_of(one->unregister_region(shared->region())), RuntimeCode::kInvalidHandle);
    EXPECT_GT(figures().num_shared, before.num_shared);
  }
  EXPECT_TRUE(eventually([&] {
    const ProcessFigures now = figures();
    return now.num_fds <= before.num_fds && now.num_shared <= before.num_shared;
  })) << figures().num_fds
      << " descriptors instead of " << before.num_fds;
}

TEST_F(SharedMemoryTest, SharingIsLimitedPerSession) {
  const auto own = client(false);
  EXPECT_EQ(code_of(own->share(std::int64_t{65} << 20).status()), RuntimeCode::kOutOfResources);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(own->share(4096).is_ok());
  const Status fifth = own->share(4096).status();
  EXPECT_EQ(code_of(fifth), RuntimeCode::kOutOfResources);
  EXPECT_THAT(fifth.message(), HasSubstr("unregister one"));
  EXPECT_TRUE(own->unregister_region(own->list_regions()->front().handle).is_ok());
  EXPECT_TRUE(own->share(4096).is_ok());
}

TEST_F(SharedMemoryTest, WithoutASessionNothingIsShared) {
  const auto nobody = client(true, false);
  EXPECT_EQ(code_of(nobody->share(4096).status()), RuntimeCode::kFailed);
  EXPECT_EQ(infer(*nobody, 2), kAnswer) << "over gRPC";
}

TEST_F(SharedMemoryTest, ShrunkNamedMemoryGivesAnErrorNotASignal) {
  const std::string name = "/sluice-rpc-test-" + std::to_string(getpid());
  for (const bool uses_ring : {false, true}) {
    const auto own = client(uses_ring);
    const shm::Fd fd(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd.is_valid());
    ASSERT_EQ(ftruncate(fd.get(), 8192), 0);
    const auto shared = own->share(name);
    shm_unlink(name.c_str());
    ASSERT_TRUE(shared.is_ok()) << shared.status().to_string();
    EXPECT_EQ(own->list_regions()->front().name, name);
    auto* x = reinterpret_cast<float*>((*shared)->memory().data());
    float* y = x + 1024;  // on a page of its own
    std::fill_n(x, 4, 2.0F);
    client::InferOptions into_y;
    into_y.outputs = {{y, 16}};
    EXPECT_EQ(answer(*own, x, into_y), kAnswer) << status_.to_string();
    ASSERT_EQ(ftruncate(fd.get(), 4096), 0);
    EXPECT_TRUE(answer(*own, x, into_y).empty());
    EXPECT_EQ(code_of(status_), RuntimeCode::kBadInput);
    EXPECT_THAT(status_.message(), HasSubstr("do not shrink it"));
    EXPECT_EQ(answer(*own, x, {}), kAnswer) << status_.to_string();
    ASSERT_EQ(ftruncate(fd.get(), 0), 0);
    EXPECT_TRUE(answer(*own, x, {}).empty());
    EXPECT_EQ(code_of(status_), RuntimeCode::kBadInput);
    EXPECT_EQ(own->share("/sluice-none").status().code(), Code::kNotFound);
    EXPECT_EQ(code_of(own->share("/../../etc/passwd").status()), RuntimeCode::kInvalid);
  }
}

TEST_F(SharedMemoryTest, LongSocketNameDisablesTheSideSocket) {
  std::string path = (folder_ / "long").string();
  path.resize(sizeof(sockaddr_un::sun_path) - 3, 'x');
  service::Service service(engine_, runtime::testing::pretended_cpu_map(4), options(), log_);
  server::ServerOptions wanted;
  wanted.addresses = {{true, path, "", 0}};
  repository::Repository repository(service, {});
  const auto server = server::Server::start(service, repository, wanted);
  ASSERT_TRUE(server.is_ok()) << server.status().to_string();
  client::ClientOptions options;
  options.address = "unix:" + path;
  const auto client = std::move(client::Client::create(options)).value();
  ASSERT_TRUE(client->open_session("test").is_ok());
  EXPECT_EQ(client->server()->side_socket, "");
  EXPECT_EQ(client->share(4096).status().code(), Code::kUnimplemented);
}

// ---- the side socket

/// Sends `bytes` and whether an answer came, and which.
std::optional<wire::SideAnswer> ask(const std::string& path, std::span<const std::byte> bytes,
                                    int fd) {
  const auto socket = shm::connect_unix(path);
  EXPECT_TRUE(socket.is_ok());
  const Status sent = shm::send_with_fd(socket->get(), bytes, fd);
  EXPECT_TRUE(sent.is_ok());
  shutdown(socket->get(), SHUT_WR);
  wire::SideAnswer answer;
  const ssize_t size = recv(socket->get(), &answer, sizeof(answer), MSG_WAITALL);
  if (size != sizeof(answer)) return std::nullopt;
  return answer;
}

TEST_F(SharedMemoryTest, SideSocketRefusesInvalidMessages) {
  const auto memory = shm::SharedMemory::create(4096).value();
  const auto refusal = [&](const wire::SideRequest& request, int fd) {
    const auto answer = ask(server::side_path(socket()), std::as_bytes(std::span(&request, 1)), fd);
    if (!answer) return RuntimeCode::kOk;
    EXPECT_GT(answer->message_bytes, 0);
    return static_cast<RuntimeCode>(answer->runtime_code);
  };
  wire::SideRequest request;
  request.kind = 1;
  request.size_bytes = 4096;
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kFailed) << "no session";
  EXPECT_EQ(refusal(request, -1), RuntimeCode::kInvalid) << "no descriptor";
  request.token.fill('f');
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kInvalidHandle) << "nobody's token";
  request.token.fill('\0');
  request.kind = 7;
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kInvalid);
  request.kind = 2;
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kInvalid) << "no ring is in it";
  request.version = 9;
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kUnsupportedVersion);
  request.magic = 0;
  EXPECT_EQ(refusal(request, memory.fd()), RuntimeCode::kUnsupportedVersion);
  const std::array<std::byte, 10> half = {};
  EXPECT_FALSE(ask(server::side_path(socket()), half, memory.fd()).has_value());
  EXPECT_FALSE(ask(server::side_path(socket()), {}, -1).has_value());
}

/// A caller of the service as a door makes it, without a session of its own.
service::Caller caller_of(const service::Service& service, const terms::Peer& peer) {
  return service.caller_of(terms::Role::kInference, "", peer).value();
}

TEST_F(SharedMemoryTest, LoopbackRegistersMemoryOfTheNamedUserExactly) {
  constexpr std::int64_t kOther = 4242;
  const std::string key = fmt::format("/sluice-loopback-{}", getpid());
  const shm::Fd memory(shm_open(key.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_TRUE(memory.is_valid());
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  // Root's own memory is of user 0, whom the setting may name: then it has to be another's.
  std::int64_t owner = getuid();
  if (owner == 0) {
    ASSERT_EQ(fchown(memory.get(), kOther, static_cast<gid_t>(-1)), 0);
    owner = kOther;
  }
  const service::Caller loopback = caller_of(service_, {"127.0.0.1:5000", -1, -1, -1});
  const service::Caller root = caller_of(service_, {"unix:", 1, 0, 0});
  const auto add = [&](const service::Caller& caller, const char* name) {
    return service_.register_part(caller, {name, key, 0, 64});
  };
  for (const std::int64_t user : {std::int64_t{0}, owner + 1, std::int64_t{-1}}) {
    service::ServiceOptions options = service_.options();
    options.loopback_user = user;
    service_.set_options(options);
    EXPECT_EQ(add(loopback, "theirs").code(), Code::kPermissionDenied) << user;
  }
  EXPECT_EQ(add(caller_of(service_, {"unix:", 1, owner + 1, 0}), "theirs").code(),
            Code::kPermissionDenied);
  service::ServiceOptions options = service_.options();
  options.loopback_user = owner;
  service_.set_options(options);
  for (const service::Caller& caller : {loopback, root}) {
    const Status status = add(caller, "frames");
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    service_.unregister_parts(caller, "");
  }
  EXPECT_EQ(add(caller_of(service_, {"10.0.0.7:5000", -1, -1, -1}), "frames").code(),
            Code::kPermissionDenied);
  shm_unlink(key.c_str());
}

// ---- rings of clients that do not behave

/// A session's ring, and the memory that the client may write what it likes to.
class HostileRingTest : public SharedMemoryTest {
 protected:
  static constexpr std::uint32_t kEntries = 8;
  static constexpr std::uint64_t kBytes = shm::ring_bytes(kEntries) + 4096;
  static constexpr std::int64_t kLongNs = 10'000'000'000;

  HostileRingTest() : memory_(shm::SharedMemory::create(kBytes).value()) {
    session_ = service_.open_session("hostile", {}).value();
    shm::RingClient::format(memory_.memory(), kEntries);
    handed_ = client::hand_over(server::side_path(socket()), session_->token(),
                                wire::SideKind::kRing, memory_.fd(), kBytes)
                  .value();
    ring_ = std::make_unique<shm::RingClient>(memory_.memory(), kEntries);
  }
  ~HostileRingTest() override {
    service_.close_session(session_->id(), make_error(Code::kCancelled, ""));
  }

  shm::Submission good() const {
    shm::Submission entry;
    entry.head.request = 5;
    entry.head.model = model_;
    entry.head.num_inputs = 1;
    entry.head.num_outputs = 1;
    entry.tensors[0] = {handed_.region, shm::ring_bytes(kEntries), 16, 1, 1, {4}};
    entry.tensors[1] = {handed_.region, shm::ring_bytes(kEntries) + 64, 16, 0, 0, {}};
    return entry;
  }

  shm::Completion answer_to(const shm::Submission& entry) {
    EXPECT_TRUE(ring_->submit(entry));
    shm::Completion completion;
    while (!ring_->take(completion) && !ring_->is_closed()) ring_->wait(0, kLongNs);
    return completion;
  }

  shm::RingControl& control() {
    return *reinterpret_cast<shm::RingControl*>(memory_.memory().data());
  }

  shm::SharedMemory memory_;
  std::shared_ptr<service::ClientSession> session_;
  client::Handed handed_;
  std::unique_ptr<shm::RingClient> ring_;
};

TEST_F(HostileRingTest, InvalidEntriesGetErrorsAndTheNextIsServed) {
  struct Case {
    const char* what;
    std::function<void(shm::Submission&)> spoil;
    RuntimeCode code;
  };
  const Case cases[] = {
      {"no model", [](auto& e) { e.head.model = 0; }, RuntimeCode::kInvalidHandle},
      {"nobody's model", [](auto& e) { e.head.model = kHuge; }, RuntimeCode::kInvalidHandle},
      {"no input", [](auto& e) { e.head.num_inputs = 0; }, RuntimeCode::kBadInput},
      {"two inputs", [](auto& e) { e.head.num_inputs = 2; }, RuntimeCode::kBadInput},
      {"no output", [](auto& e) { e.head.num_outputs = 0; }, RuntimeCode::kBadInput},
      {"many inputs", [](auto& e) { e.head.num_inputs = 0xFFFFFFFF; }, RuntimeCode::kBadInput},
      {"nobody's region", [](auto& e) { e.tensors[0].region = 99; }, RuntimeCode::kInvalidHandle},
      {"no region", [](auto& e) { e.tensors[1].region = 0; }, RuntimeCode::kInvalidHandle},
      {"outside", [](auto& e) { e.tensors[0].offset = kBytes; }, RuntimeCode::kBadInput},
      {"just outside", [](auto& e) { e.tensors[0].offset = kBytes & ~63ULL; },
       RuntimeCode::kBadInput},
      {"around", [](auto& e) { e.tensors[0].offset = kHuge - 63; }, RuntimeCode::kBadInput},
      {"not aligned", [](auto& e) { e.tensors[0].offset += 4; }, RuntimeCode::kBadInput},
      {"output outside", [](auto& e) { e.tensors[1].bytes = kHuge; }, RuntimeCode::kBadInput},
      {"output around", [](auto& e) { e.tensors[1].offset = kHuge & ~63ULL; },
       RuntimeCode::kBadInput},
      {"no room", [](auto& e) { e.tensors[1].bytes = 8; }, RuntimeCode::kOutOfResources},
      {"fewer bytes", [](auto& e) { e.tensors[0].bytes = 15; }, RuntimeCode::kBadInput},
      {"no type", [](auto& e) { e.tensors[0].element_type = 0; }, RuntimeCode::kBadInput},
      {"type -1", [](auto& e) { e.tensors[0].element_type = -1; }, RuntimeCode::kBadInput},
      {"texts", [](auto& e) { e.tensors[0].element_type = 8; }, RuntimeCode::kBadInput},
      {"rank 9", [](auto& e) { e.tensors[0].rank = 9; }, RuntimeCode::kBadInput},
      {"rank 2^32-1", [](auto& e) { e.tensors[0].rank = 0xFFFFFFFF; }, RuntimeCode::kBadInput},
      {"[-4]", [](auto& e) { e.tensors[0].dims[0] = -4; }, RuntimeCode::kBadInput},
      {"[2^63-1]", [](auto& e) { e.tensors[0].dims[0] = INT64_MAX; }, RuntimeCode::kBadInput},
      {"[5]",
       [](auto& e) {
         e.tensors[0].dims[0] = 5;
         e.tensors[0].bytes = 20;
       },
       RuntimeCode::kBadInput},
      {"one nanosecond", [](auto& e) { e.head.timeout_ns = 1; }, RuntimeCode::kTimeout},
  };
  for (const Case& one : cases) {
    shm::Submission entry = good();
    one.spoil(entry);
    const shm::Completion completion = answer_to(entry);
    EXPECT_EQ(static_cast<RuntimeCode>(completion.head.runtime_code), one.code) << one.what;
    EXPECT_NE(completion.head.status_code, 0) << one.what;
    EXPECT_GT(completion.head.message_bytes, 0U) << one.what;
    EXPECT_EQ(completion.head.request, 5U);
    EXPECT_EQ(answer_to(good()).head.status_code, 0) << "after " << one.what;
  }
  for (const std::int64_t timeout : {INT64_MAX, INT64_MIN, std::int64_t{-1}}) {
    shm::Submission entry = good();
    entry.head.timeout_ns = timeout;
    EXPECT_EQ(answer_to(entry).head.status_code, 0) << timeout;
  }
}

/// Counts down to 0: within each round a limit of time is asked for.
constexpr std::string_view kCountDown = R"(
subgraph @0 "main" {
  input %x : f32[]
  const %true : bool[] = hex 01
  [%y : f32[]] = Loop.25[_, %true, %x] {body = @1, captures = 0}
  output [%y]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %x : f32[]
  const %zero : f32[] = [0.0]
  const %one : f32[] = [1.0]
  [%less : f32[]] = Sub.14[%x, %one]
  [%more : bool[]] = Greater.13[%less, %zero]
  output [%more, %less]
}
)";

TEST_F(HostileRingTest, LimitOfARunFollowsTheRolesOfTheRingsOwnClient) {
  ASSERT_TRUE(package::write_package(*runtime::testing::model_of(kCountDown, "reference"), package_)
                  .is_ok());
  const auto model = client(false, false)->upload({}, package_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  // A ring of a client that is no administrator, as this process is.
  const terms::Peer peer = {"unix:", 1, 4000001, 77};
  const auto session = service_.open_session("limited", peer).value();
  const service::Caller owner = {session, peer};
  const service::Caller administrator = {session, {"unix:", 1, 0, 78}};
  const auto set_limit = [&](std::int64_t ns) {
    service::RoleRule limited;
    limited.id = peer.user;
    limited.who = service::RoleRule::Who::kUser;
    limited.roles = terms::Roles::all();
    limited.roles.set_max_run_ns(ns);
    service::RoleRule others;
    others.roles = terms::Roles::all();
    service::ServiceOptions options = service_.options();
    options.roles = {limited, others};
    service_.set_options(options);
  };
  const shm::SharedMemory memory = shm::SharedMemory::create(kBytes).value();
  shm::RingClient::format(memory.memory(), kEntries);
  const auto region = service_.register_ring(owner, memory.fd(), kBytes);
  ASSERT_TRUE(region.is_ok()) << region.status().to_string();
  shm::RingClient ring(memory.memory(), kEntries);
  const float rounds = 1000;
  std::memcpy(memory.memory().data() + shm::ring_bytes(kEntries), &rounds, sizeof(rounds));
  const auto code = [&] {
    shm::Submission entry = good();
    entry.head.model = model->info.handle;
    entry.tensors[0] = {*region, shm::ring_bytes(kEntries), 4, 1, 0, {}};
    entry.tensors[1] = {*region, shm::ring_bytes(kEntries) + 64, 4, 0, 0, {}};
    EXPECT_TRUE(ring.submit(entry));
    shm::Completion completion;
    while (!ring.take(completion) && !ring.is_closed()) ring.wait(0, kLongNs);
    return static_cast<RuntimeCode>(completion.head.runtime_code);
  };
  EXPECT_EQ(code(), RuntimeCode::kOk);
  set_limit(1);
  // An administrator's call over the same session does not change it.
  EXPECT_TRUE(
      service_.caller_of(terms::Role::kInference, session->token(), administrator.peer).is_ok());
  EXPECT_EQ(service_.limits_of(administrator).max_run_ns, 0);
  EXPECT_EQ(code(), RuntimeCode::kTimeout) << "a thousand rounds take more than a nanosecond";
  set_limit(0);
  EXPECT_EQ(code(), RuntimeCode::kOk);
  service_.close_session(session->id(), make_error(Code::kCancelled, ""));
}

TEST_F(HostileRingTest, TensorsOverTheRingAffectNoOtherClient) {
  shm::Submission entry = good();
  entry.tensors[0].offset = 0;   // the control words, read as numbers
  entry.tensors[1].offset = 64;  // and overwritten with what comes of them
  ASSERT_TRUE(ring_->submit(entry));
  const auto other = client(true);
  EXPECT_EQ(infer(*other, 2), kAnswer);
}

TEST_F(HostileRingTest, ImpossiblePositionsCloseTheirRingOnly) {
  EXPECT_EQ(answer_to(good()).head.status_code, 0);
  const auto other = client(true);
  EXPECT_EQ(infer(*other, 2), kAnswer);
  control().submission_tail.value = 0x80000000;
  while (!ring_->is_closed()) ring_->wait(0, kLongNs);
  EXPECT_EQ(infer(*other, 2), kAnswer);
}

TEST_F(HostileRingTest, ConstantRewritingAffectsNoOtherClient) {
  const auto other = client(true);
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    ring_->submit(good());
    auto* words = reinterpret_cast<std::uint32_t*>(memory_.memory().data());
    for (int k = 0; k < 20; ++k) {
      random = random * 1664525 + 1013904223;
      const std::size_t at = random % (kBytes / 4);
      if (at >= 16) words[at] = random >> (random % 32);
    }
    if (i % 100 == 0) {
      EXPECT_EQ(infer(*other, 2), kAnswer);
    }
  }
}

TEST_F(HostileRingTest, ClientThatUnmapsAndHangsUpLeaksNothing) {
  EXPECT_EQ(answer_to(good()).head.status_code, 0);
  ASSERT_TRUE(ring_->submit(good()));
  ring_ = nullptr;
  { const shm::SharedMemory gone = std::move(memory_); }
  handed_.socket = shm::Fd();
  EXPECT_TRUE(eventually([&] { return session_->list_regions().empty(); }));
  EXPECT_TRUE(eventually([&] { return figures().num_shared == 0; }));
}

}  // namespace
}  // namespace sluice::rpc

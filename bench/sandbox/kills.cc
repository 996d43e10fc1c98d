// Kills cells, guests and the daemon under a bursty load, and checks what follows.
//
//     kills PACKAGE [KILLS [CELLS [STOPS]]]
//
// Each cell has four functions, two of which join requests where the package allows it, and two
// graphs of two of them. A hundred kills hit 70 cells, 29 guests (a client with a session, a
// function and tensors of its own) and once the daemon, the cells' supervisor. About STOPS of those
// that hit a cell (one in ten) stop it (SIGSTOP) instead. The program fails if a request is not
// answered exactly once, if a request fails whose cell was not hit meanwhile, if a function or a
// graph does not answer again, or if something is left.
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "../rpc/programs.h"
#include "base/clock.h"
#include "package/package.h"
#include "replay.h"
#include "rpc/client/client.h"
#include "target.h"
#include "traces.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using rpc::client::Client;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kRecoveryLimitNs = 30'000 * kMs;

[[noreturn]] void refuse(const std::string& message) {
  fmt::print(stderr, "kills: {}\n", message);
  std::exit(1);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result.is_ok()) refuse(result.status().to_string());
  return std::move(*result);
}

std::int64_t now_ns() { return system_clock().now_ns(); }
void pause(std::int64_t duration_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
}

std::unique_ptr<Client> connect(const std::string& address) {
  rpc::client::ClientOptions options;
  options.address = address;
  options.uses_ring = false;
  return value_of(Client::create(options));
}

terms::Signature signature_of(const std::string& package) {
  return package::signature_of(value_of(package::read_package(package)).graph);
}

/// Zeros for the inputs of a package or a graph.
class Inputs {
 public:
  explicit Inputs(const terms::Signature& signature) {
    for (const terms::TensorSpec& spec : signature.inputs) {
      bytes_.emplace_back(static_cast<std::size_t>(bytes_of(spec)));
      terms::TensorView view;
      view.element = spec.type.element();
      view.dims = dims_of(spec);
      view.size_bytes = bytes_of(spec);
      view.data = bytes_.back().data();
      tensors.push_back({spec.name, std::move(view)});
    }
  }
  std::vector<terms::NamedTensor> tensors;

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

/// A request of the load: when it was sent and answered, and how it ended.
struct Sent {
  std::size_t cell = 0;
  std::int64_t sent_ns = 0;
  std::int64_t answered_ns = 0;
  int num_answers = 0;
  bool is_ok = false;
  std::string error;
};

/// A cell was not there from the kill to the first answer after it.
struct Outage {
  std::size_t cell = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

constexpr std::size_t kFunctionsOfACell = 4;
constexpr std::size_t kGraphsOfACell = kFunctionsOfACell / 2;

/// A function or a graph.
struct Asked {
  std::uint64_t handle = 0;
  std::shared_ptr<const Inputs> inputs;
};

struct Deployment {
  std::vector<std::vector<Asked>> asked;  ///< by cell: its functions, then its graphs
  std::vector<std::int64_t> groups;       ///< by cell
};

class Test {
 public:
  Test(std::string package, std::int64_t num_kills, std::size_t num_cells, std::int64_t num_stops)
      : package_(std::move(package)),
        num_kills_(num_kills),
        num_cells_(num_cells),
        stop_share_(static_cast<double>(num_stops) / (0.7 * static_cast<double>(num_kills))),
        signature_(signature_of(package_)),
        inputs_(std::make_shared<const Inputs>(signature_)) {
    std::string pattern = (fs::temp_directory_path() / "sluice-kills-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) refuse("no temporary folder");
    folder_ = pattern;
    address_ = "unix:" + folder_ + "/sluice.sock";
  }

  int run() {
    std::int64_t left = num_kills_;
    while (left > 0) {
      const std::int64_t round = std::min<std::int64_t>(left, 100);
      run_round(round);
      left -= round;
      fmt::print(stderr, "{} kills left\n", left);
    }
    report();
    fs::remove_all(folder_);
    return num_wrong_ == 0 ? 0 : 1;
  }

 private:
  /// A life of the daemon: it is killed last.
  void run_round(std::int64_t num_kills) {
    daemon_.emplace(
        start_daemon(folder_, {"--function-cells", std::to_string(num_cells_), "--worker-restarts",
                               "1000000", "--worker-silence", "1", "--stream-requests", "65536"}));
    const auto control = connect(address_);
    deploy(*control);
    const std::size_t idle_files = num_open_files(daemon_->id());
    sent_.clear();
    outages_.clear();
    is_over_ = false;
    std::vector<std::thread> load;
    for (std::size_t cell = 0; cell < num_cells_; ++cell) {
      load.emplace_back([this, cell] { send(cell); });
    }
    for (std::int64_t i = 0; i + 1 < num_kills; ++i) {
      pause(static_cast<std::int64_t>(random_() % 20) * kMs);
      if (random_() % 99 < 70) {
        const bool stops = static_cast<double>(random_() % 1000) < 1000 * stop_share_;
        hit_cell(*control, random_() % num_cells_, stops ? SIGSTOP : SIGKILL);
      } else {
        kill_guest(*control);
      }
    }
    is_over_ = true;
    for (std::thread& thread : load) thread.join();
    check_requests();
    check_leaks(*control, idle_files);
    kill_daemon();
  }

  void deploy(Client& client) {
    deployment_ = {};
    for (std::size_t i = 0; i < num_cells_ * kFunctionsOfACell; ++i) {
      const auto entry = deploy_function(client, i);
      const std::int64_t group = entry.info.group.value();
      const auto known = std::ranges::find(deployment_.groups, group);
      const auto cell = static_cast<std::size_t>(known - deployment_.groups.begin());
      if (known == deployment_.groups.end()) {
        deployment_.groups.push_back(group);
        deployment_.asked.emplace_back();
      }
      deployment_.asked[cell].push_back({entry.info.handle, inputs_});
    }
    if (deployment_.groups.size() != num_cells_) refuse("a cell has no function");
    for (std::vector<Asked>& asked : deployment_.asked) {
      if (asked.size() != kFunctionsOfACell) refuse("the cells have no equal numbers of functions");
      for (std::size_t i = 0; i < kGraphsOfACell; ++i) {
        const auto entry = deploy_graph(client, asked[i].handle, asked[i + kGraphsOfACell].handle);
        asked.push_back({entry.info.handle, std::make_shared<const Inputs>(entry.signature)});
      }
    }
  }

  /// Deploys a graph of two functions: the first passes its output on where types allow it.
  terms::ModelEntry deploy_graph(Client& client, std::uint64_t first, std::uint64_t second) const {
    terms::GraphRequest graph;
    graph.name = "graph";
    graph.nodes = {{"first", terms::ModelHandle{first}}, {"second", terms::ModelHandle{second}}};
    const terms::TensorSpec& from = signature_.outputs.front();
    const terms::TensorSpec& to = signature_.inputs.front();
    if (from.type == to.type) graph.edges = {{{"first", from.name}, {"second", to.name}}};
    return value_of(client.deploy_graph(graph));
  }

  terms::ModelEntry deploy_function(Client& client, std::size_t number) const {
    terms::LoadOptions options;
    options.name = fmt::format("function-{}", number);
    options.function = terms::FunctionOptions();
    options.isolation = terms::Isolation::kProcess;
    options.queue_limit = 16'384;
    if (number / num_cells_ % 2 == 1) {
      options.function->batch_rows = 4;
      auto joining = client.upload(options, package_);
      if (joining.is_ok()) return *joining;
      options.function->batch_rows = 0;  // the package has no free first dimension
    }
    return value_of(client.upload(options, package_));
  }

  /// Bursts of requests to the cell's functions and graphs in turn, open loop, on one stream.
  void send(std::size_t cell) {
    const auto client = connect(address_);
    const auto stream = value_of(client->open_stream());
    const auto counts = generate_counts(Pattern::kBursty, 6000, 17 + cell);
    std::vector<Sent> mine;
    std::mutex mutex;
    std::thread receiver([&] {
      while (true) {
        auto answer = stream->next();
        if (!answer.is_ok() || !*answer) return;
        const std::lock_guard lock(mutex);
        Sent& sent = mine[(*answer)->id];
        ++sent.num_answers;
        sent.answered_ns = now_ns();
        sent.is_ok = (*answer)->reply.is_ok();
        if (!sent.is_ok) sent.error = (*answer)->reply.status().to_string();
      }
    });
    for (std::size_t slot = 0; !is_over_; slot = (slot + 1) % counts.size()) {
      // 20 ms each; 2900 requests of the pattern are 24 here.
      for (std::int64_t i = 0; i < counts[slot] / 120; ++i) {
        std::size_t id = 0;
        {
          const std::lock_guard lock(mutex);
          id = mine.size();
          mine.push_back({cell, now_ns(), 0, 0, false, ""});
        }
        const auto& asked = deployment_.asked[cell];
        const Asked& next = asked[id % asked.size()];
        if (!stream->send(id, next.handle, next.inputs->tensors).is_ok()) break;
      }
      pause(20 * kMs);
    }
    stream->close();
    receiver.join();
    const std::lock_guard lock(mutex_);
    sent_.insert(sent_.end(), mine.begin(), mine.end());
  }

  terms::WorkerInfo worker_of(Client& client, std::size_t cell) const {
    for (const terms::GroupEntry& entry : value_of(client.list_groups())) {
      if (entry.info.id.value() == deployment_.groups[cell]) return entry.info.worker;
    }
    refuse("a cell has no group");
  }

  void hit_cell(Client& control, std::size_t cell, int signal) {
    const terms::WorkerInfo worker = worker_of(control, cell);
    if (worker.process < 0) return;
    Outage outage = {cell, now_ns(), 0};
    kill(static_cast<pid_t>(worker.process), signal);
    wait_for_answers(control, cell);
    outage.end_ns = now_ns();
    outages_.push_back(outage);
    const std::int64_t took_ns = outage.end_ns - outage.begin_ns;
    (signal == SIGSTOP ? stop_recoveries_ns_ : cell_recoveries_ns_).push_back(took_ns);
  }

  /// One of each function and graph of the cell.
  void wait_for_answers(Client& client, std::size_t cell) {
    const std::int64_t deadline_ns = now_ns() + kRecoveryLimitNs;
    for (const Asked& asked : deployment_.asked[cell]) {
      while (!client.infer(asked.handle, asked.inputs->tensors).is_ok()) {
        if (now_ns() > deadline_ns) refuse(fmt::format("cell {} does not come back", cell));
      }
    }
  }

  /// A process of this program, see `be_guest`.
  void kill_guest(Client& control) {
    const std::size_t before = value_of(control.list_models()).size();
    const std::string self = fs::canonical("/proc/self/exe").string();
    std::vector<std::string> words = {self, "guest", address_, package_};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t guest = -1;
    if (posix_spawn(&guest, self.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
      refuse("a guest does not start");
    }
    const auto wait_for = [&](std::size_t count) {
      const std::int64_t deadline_ns = now_ns() + kRecoveryLimitNs;
      while (value_of(control.list_models()).size() != count) {
        if (now_ns() > deadline_ns) refuse(fmt::format("a guest's function: waited for {}", count));
        pause(kMs);
      }
    };
    wait_for(before + 1);
    pause(static_cast<std::int64_t>(random_() % 10) * kMs);
    const std::int64_t begin_ns = now_ns();
    kill(guest, SIGKILL);
    waitpid(guest, nullptr, 0);
    wait_for(before);
    guest_recoveries_ns_.push_back(now_ns() - begin_ns);
  }

  void kill_daemon() {
    std::vector<pid_t> workers;
    const auto control = connect(address_);
    for (const terms::GroupEntry& entry : value_of(control->list_groups())) {
      workers.push_back(static_cast<pid_t>(entry.info.worker.process));
    }
    const std::int64_t begin_ns = now_ns();
    daemon_.reset();  // SIGKILL
    for (const pid_t worker : workers) {
      while (worker > 0 && kill(worker, 0) == 0 && now_ns() < begin_ns + kRecoveryLimitNs) {
        pause(kMs);
      }
      if (worker > 0 && kill(worker, 0) == 0) wrong("a worker outlives the daemon");
    }
    // Its next life, with its functions, up to their answers.
    daemon_.emplace(start_daemon(folder_, {"--function-cells", std::to_string(num_cells_)}));
    const auto again = connect(address_);
    deploy(*again);
    for (std::size_t cell = 0; cell < num_cells_; ++cell) wait_for_answers(*again, cell);
    daemon_recoveries_ns_.push_back(now_ns() - begin_ns);
    daemon_.reset();
  }

  void check_requests() {
    for (const Sent& sent : sent_) {
      ++num_requests_;
      if (sent.num_answers != 1) wrong(fmt::format("{} answers to a request", sent.num_answers));
      if (sent.is_ok) continue;
      ++num_failed_;
      const bool has_reason = std::ranges::any_of(outages_, [&](const Outage& outage) {
        return outage.cell == sent.cell && outage.begin_ns <= sent.answered_ns &&
               sent.sent_ns <= outage.end_ns;
      });
      if (!has_reason) wrong("a request failed whose cell lived: " + sent.error);
    }
  }

  void check_leaks(Client& control, std::size_t idle_files) {
    const std::size_t num_models = num_cells_ * (kFunctionsOfACell + kGraphsOfACell);
    if (value_of(control.list_models()).size() != num_models) wrong("a function is left");
    if (value_of(control.list_groups()).size() != num_cells_) wrong("a group is left");
    const std::int64_t deadline_ns = now_ns() + 5000 * kMs;
    while (num_open_files(daemon_->id()) > idle_files + 2 && now_ns() < deadline_ns)
      pause(10 * kMs);
    const std::size_t files = num_open_files(daemon_->id());
    if (files > idle_files + 2) wrong(fmt::format("{} files open, {} before", files, idle_files));
  }

  static std::size_t num_open_files(pid_t process) {
    const fs::path folder = fmt::format("/proc/{}/fd", process);
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  void wrong(const std::string& what) {
    if (++num_wrong_ <= 20) fmt::print("WRONG: {}\n", what);
  }

  void report() const {
    fmt::print(
        "{} requests, {} failed, each answered once and for its own cell's sake; {} wrong\n\n",
        num_requests_, num_failed_, num_wrong_);
    fmt::print("| killed | times | back after, p50 ms | p99 ms |\n|---|--:|--:|--:|\n");
    const auto row = [](const char* name, const std::vector<std::int64_t>& durations_ns) {
      fmt::print("| {} | {} | {:.1f} | {:.1f} |\n", name, durations_ns.size(),
                 static_cast<double>(quantile(durations_ns, 0.5)) / kMs,
                 static_cast<double>(quantile(durations_ns, 0.99)) / kMs);
    };
    row("cell", cell_recoveries_ns_);
    row("cell, stopped", stop_recoveries_ns_);
    row("guest", guest_recoveries_ns_);
    row("daemon", daemon_recoveries_ns_);
  }

  const std::string package_;
  const std::int64_t num_kills_;
  const std::size_t num_cells_;
  const double stop_share_;
  const terms::Signature signature_;
  const std::shared_ptr<const Inputs> inputs_;
  std::string folder_;
  std::string address_;
  std::mt19937_64 random_{1};
  std::optional<Process> daemon_;
  Deployment deployment_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::vector<Sent> sent_;
  std::vector<Outage> outages_;
  std::vector<std::int64_t> cell_recoveries_ns_;
  std::vector<std::int64_t> stop_recoveries_ns_;
  std::vector<std::int64_t> guest_recoveries_ns_;
  std::vector<std::int64_t> daemon_recoveries_ns_;
  std::int64_t num_requests_ = 0;
  std::int64_t num_failed_ = 0;
  std::int64_t num_wrong_ = 0;
};

/// Holds a session with a function in the guilty and the innocent's cells' pool, tensors in the
/// exchange, and requests in flight, until it is killed.
[[noreturn]] void be_guest(const std::string& address, const std::string& package) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Inputs inputs(signature_of(package));
  const auto client = connect(address);
  (void)value_of(client->open_session("guest"));
  terms::LoadOptions options;
  options.name = "guest";
  options.function = terms::FunctionOptions();
  options.isolation = terms::Isolation::kProcess;
  const auto entry = value_of(client->upload(options, package));
  while (true) {
    (void)client->put_tensor(inputs.tensors.front().view).is_ok();
    (void)client->infer(entry.info.handle, inputs.tensors).is_ok();
  }
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "guest") sluice::bench::be_guest(argv[2], argv[3]);
  if (argc < 2) {
    fmt::print(stderr, "usage: kills PACKAGE [KILLS [CELLS [STOPS]]]\n");
    return 2;
  }
  const std::int64_t num_kills = argc > 2 ? std::max(1LL, std::atoll(argv[2])) : 1000;
  const auto num_cells =
      static_cast<std::size_t>(argc > 3 ? std::max(1LL, std::atoll(argv[3])) : 2);
  const std::int64_t num_stops =
      argc > 4 ? std::max(0LL, std::atoll(argv[4])) : num_kills * 7 / 100;
  return sluice::bench::Test(argv[1], num_kills, num_cells, num_stops).run();
}

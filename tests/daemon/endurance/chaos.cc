// Kills clients and workers of a daemon at random moments while others work: nobody else may see an
// error, every request of a killed worker has one answer, and nothing may be left behind. Prints
// what it counted; exits 1 if anything was wrong.
//   daemon_chaos [KILLS [SEED]]
// The first tenth of the kills is a warm-up: the daemon's resources after it are compared with
// those at the end, both without clients, once the daemon has let go of what the dead had.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "support/process.h"

namespace sluice::testing {
namespace {

constexpr int kClients = 8;
constexpr int kSpared = 2;  ///< the last ones of them are never killed
constexpr std::int64_t kMaxHeapGrowth = std::int64_t{2} << 20;
constexpr std::int64_t kMaxFdGrowth = 8;        ///< of pools; each of the dead had more
constexpr std::int64_t kMaxMappingGrowth = 64;  ///< of the allocator, for threads

/// What a daemon without clients has.
struct Idle {
  std::size_t num_sessions = 0;
  std::size_t num_models = 0;
  std::size_t num_groups = 0;
  std::int32_t num_free_cores = 0;
  std::int64_t heap_bytes = 0;  ///< 0 under a sanitizer
  ProcessFigures process;

  /// `before`: what the daemon had after the warm-up; nothing of a process yet during that.
  bool is_clean(const Idle& before) const {
    const bool is_new = before.process.num_threads == 0;
    const bool has_grown = heap_bytes > before.heap_bytes + kMaxHeapGrowth ||
                           process.num_fds > before.process.num_fds + kMaxFdGrowth ||
                           process.num_mappings > before.process.num_mappings + kMaxMappingGrowth;
    return heap_bytes >= 0 && num_sessions + num_models + num_groups == 0 &&
           num_free_cores == before.num_free_cores && process.num_children == 0 &&
           process.num_shared == 0 && (is_new || !has_grown);
  }
};

/// The value of `name`, a metric without labels, at a Unix socket; -1 without an answer.
std::int64_t metric_of(const std::string& socket_path, const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::string said;
  constexpr std::string_view kAsk =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      write(fd, kAsk.data(), kAsk.size()) == static_cast<ssize_t>(kAsk.size())) {
    std::array<char, 4096> part;
    for (ssize_t got = 0; (got = read(fd, part.data(), part.size())) > 0;) {
      said.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  close(fd);
  const std::size_t at = said.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::atoll(said.c_str() + at + name.size() + 2);
}

class Chaos {
 public:
  Chaos(const RunningDaemon& daemon, std::string package, std::string metrics, unsigned seed)
      : daemon_(daemon),
        package_(std::move(package)),
        metrics_(std::move(metrics)),
        random_(seed),
        admin_(daemon.client()) {}

  /// Kills `kills` times while all clients work; then ends all in order.
  void run(int kills) {
    std::vector<std::unique_ptr<Program>> clients;
    for (int i = 0; i < kClients; ++i) clients.push_back(start_client());
    for (int i = 0; i < kills; ++i) {
      pause_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 40)(random_)));
      if (std::uniform_int_distribution<int>(0, 1)(random_) == 0 && kill_worker()) {
        ++num_killed_workers_;
        continue;
      }
      auto& victim = clients[static_cast<std::size_t>(
          std::uniform_int_distribution<int>(0, kClients - kSpared - 1)(random_))];
      if (victim->end(SIGKILL) == -SIGKILL) {
        ++num_killed_;
      } else {
        count_error(*victim);
      }
      victim = start_client();
    }
    for (const auto& client : clients) {
      const int code = client->end(SIGTERM);
      if (code == 0) {
        long long answered = 0;
        long long lost = 0;
        std::sscanf(client->read_line().c_str(), "%lld %lld", &answered, &lost);  // NOLINT
        num_answered_ += answered;
        num_lost_ += lost;
      } else if (code != -SIGTERM) {  // else it had not begun: it takes the signal first of all
        count_error(*client);
      }
    }
  }

  /// Waits until the dead's things are reclaimed: a session leaves the list before the daemon
  /// closes its descriptors and unmaps its regions.
  Idle when_idle(const Idle& before) const {
    Idle idle;
    const auto is_clean = [&] {
      if (daemon_.has_ended()) return true;  // no call has an answer; `run` says with what it ended
      idle.num_sessions = admin_->list_sessions()->size();
      idle.num_models = admin_->list_models()->size();
      idle.num_groups = admin_->list_groups()->size();
      idle.num_free_cores = admin_->server()->num_free_cores;
      idle.heap_bytes = metric_of(metrics_, "sluice_heap_bytes");
      idle.process = figures_of(daemon_.process());
      return idle.is_clean(before);
    };
    if (!eventually(is_clean)) ++num_errors_;
    return idle;
  }

  std::int64_t num_killed() const { return num_killed_; }
  std::int64_t num_killed_workers() const { return num_killed_workers_; }
  /// Answers to clients that were not killed, of workers that were.
  std::int64_t num_lost() const { return num_lost_; }
  std::int64_t num_errors() const { return num_errors_; }
  /// By clients that were not killed.
  std::int64_t num_answered() const { return num_answered_; }
  std::int64_t num_started() const { return num_started_; }

 private:
  std::unique_ptr<Program> start_client() {
    ++num_started_;
    return std::make_unique<Program>(
        std::vector<std::string>{build_path("test/daemon_chaos_client").string(), daemon_.address(),
                                 package_, std::to_string(random_())});
  }
  /// Any of them; false if there is none now.
  bool kill_worker() {
    std::vector<pid_t> workers;
    const auto groups = admin_->list_groups();
    if (!groups.is_ok()) return false;
    for (const auto& group : *groups) {
      if (group.info.worker.process > 0) {
        workers.push_back(static_cast<pid_t>(group.info.worker.process));
      }
    }
    if (workers.empty()) return false;
    return kill_child(
        daemon_.process(),
        workers[std::uniform_int_distribution<std::size_t>(0, workers.size() - 1)(random_)]);
  }

  void count_error(const Program& client) {
    ++num_errors_;
    std::printf("a client saw an error: %s\n", client.read_line().c_str());
  }

  const RunningDaemon& daemon_;
  const std::string package_;
  const std::string metrics_;  ///< the path of a socket
  std::mt19937 random_;
  const std::unique_ptr<rpc::client::Client> admin_;
  std::int64_t num_started_ = 0;
  std::int64_t num_killed_ = 0;
  std::int64_t num_killed_workers_ = 0;
  std::int64_t num_lost_ = 0;
  mutable std::int64_t num_errors_ = 0;
  std::int64_t num_answered_ = 0;
};

void print(const char* when, const Idle& idle) {
  std::printf(
      "%-8s sessions %zu, models %zu, groups %zu, free cores %d, fds %lld, mappings %lld, "
      "threads %lld, workers %lld, heap %lld KB, shared mappings %lld\n",
      when, idle.num_sessions, idle.num_models, idle.num_groups, idle.num_free_cores,
      static_cast<long long>(idle.process.num_fds),
      static_cast<long long>(idle.process.num_mappings),
      static_cast<long long>(idle.process.num_threads),
      static_cast<long long>(idle.process.num_children),
      static_cast<long long>(idle.heap_bytes >> 10),
      static_cast<long long>(idle.process.num_shared));
}

int run(int kills, unsigned seed) {
  const TempDir folder;
  const std::string package = write_model(folder, "one", {1});
  DaemonSetup setup;
  // Without the simulation's log, which is no leak and grows up to its limit.
  const std::string metrics = (folder / "metrics.sock").string();
  setup.flags = {"--worker-restarts", "1000000", "--metrics", "unix:" + metrics};
  setup.sim.replace(setup.sim.find('{'), 1, R"({"max_log_bytes": 0, )");
  auto daemon = RunningDaemon::start(folder, setup);
  if (!daemon.is_ok()) {
    std::printf("%s\n", daemon.status().to_string().c_str());
    return 1;
  }
  std::printf("seed %u, %d kills, %d clients at a time\n", seed, kills, kClients);
  Chaos chaos(**daemon, package, metrics, seed);
  Idle first;
  first.num_free_cores = (*daemon)->client()->server()->num_free_cores;
  chaos.run(kills / 10);
  const Idle warm = chaos.when_idle(first);
  print("warm", warm);
  chaos.run(kills - kills / 10);
  const Idle last = chaos.when_idle(warm);
  print("end", last);
  const bool says_leak = (*daemon)->output().find("session.leak") != std::string::npos;
  const int code = (*daemon)->end(SIGTERM);
  std::printf(
      "%lld killed of %lld started, %lld workers killed, %lld errors of others, %lld answers to "
      "those who lived, %lld of them of killed workers, the daemon ended with %d\n",
      static_cast<long long>(chaos.num_killed()), static_cast<long long>(chaos.num_started()),
      static_cast<long long>(chaos.num_killed_workers()),
      static_cast<long long>(chaos.num_errors()),
      static_cast<long long>(chaos.num_answered() + chaos.num_lost()),
      static_cast<long long>(chaos.num_lost()), code);
  const bool is_good = chaos.num_errors() == 0 &&
                       chaos.num_killed() + chaos.num_killed_workers() == kills && code == 0 &&
                       !says_leak;
  if (!is_good) {
    const std::string said = (*daemon)->output();
    const std::size_t from = said.size() - std::min<std::size_t>(said.size(), 20'000);
    std::printf("the daemon said at last:\n%s", said.c_str() + from);
  }
  std::printf("%d passed, %d failed\n", is_good ? 1 : 0, is_good ? 0 : 1);
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 1000;
  const auto seed = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 1U;
  return sluice::testing::run(kills, seed);
}

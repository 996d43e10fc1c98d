// Time to fetch a tensor from the daemon of another host, against a plain copy over a socket.
//
//     two_hosts [MIB [ROUNDS]]
//
// The hosts are two namespaces of the network on this machine (rpc/network.h); each has a daemon.
// Copies and fetches alternate; the program prints the median of the ratios of neighbours: 1 is a
// fetch as fast as the socket, 0.80 the goal. Both end with the bytes in new memory. A daemon asks
// for huge pages and a plain program gets small ones, which cost a fault each. So a second copy
// asks for huge pages, too: the ratio to that one is of the ways alone. Exit code 77 where
// namespaces are not permitted.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "rpc/client/client.h"
#include "rpc/network.h"
#include "rpc/programs.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using rpc::client::Client;

constexpr int kPlainPort = 5600;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& message) {
  fmt::print(stderr, "two_hosts: {}\n", message);
  std::exit(1);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result.is_ok()) refuse(result.status().to_string());
  return std::move(*result);
}

void require(bool is_true, const char* what) {
  if (!is_true) refuse(what);
}

sockaddr_in address_of_giver() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPlainPort);
  inet_pton(AF_INET, TwoHosts::address(0), &address.sin_addr);
  return address;
}

using Memory = std::unique_ptr<char, void (*)(void*)>;

Memory small_pages(std::size_t size) { return {static_cast<char*>(std::malloc(size)), std::free}; }

Memory huge_pages(std::size_t size) {
  constexpr std::size_t kPageBytes = std::size_t{2} << 20;
  const std::size_t rounded = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* memory = static_cast<char*>(std::aligned_alloc(kPageBytes, rounded));
  madvise(memory, rounded, MADV_HUGEPAGE);
  return {memory, std::free};
}

/// Nanoseconds from the connection to the last byte, in memory from `allocate`.
std::int64_t copy_plainly(const TwoHosts& hosts, const std::vector<char>& bytes,
                          Memory (*allocate)(std::size_t)) {
  const sockaddr_in address = address_of_giver();
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  require(hosts.enter(0).is_ok(), "cannot enter the first host");
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  require(bind(listener, where, sizeof(address)) == 0 && listen(listener, 1) == 0, "cannot listen");
  std::thread sender([&] {
    const int fd = accept(listener, nullptr, nullptr);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent =
          send(fd, bytes.data() + at, std::min(kPieceBytes, bytes.size() - at), MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
    close(fd);
  });
  require(hosts.enter(1).is_ok(), "cannot enter the second host");
  const std::int64_t start_ns = system_clock().now_ns();
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(connect(fd, where, sizeof(address)) == 0, "cannot connect");
  const Memory to = allocate(bytes.size());
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = recv(fd, to.get() + at, bytes.size() - at, 0);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  const std::int64_t took_ns = system_clock().now_ns() - start_ns;
  close(fd);
  sender.join();
  close(listener);
  require(at == bytes.size() && to.get()[at - 1] == bytes.back(), "the copy is not whole");
  return took_ns;
}

/// Two daemons with a simulated device each, and a tensor that the first one offers.
class Exchange {
 public:
  Exchange(const TwoHosts& hosts, const fs::path& folder, std::vector<char>& bytes)
      : hosts_(hosts), folder_(folder) {
    std::ofstream(folder_ / "token") << "knock inference guest\n";
    std::ofstream(folder_ / "machine.json") << R"({"devices": [{"cores": 1}]})";
    const std::string source = fmt::format("{}:5601", TwoHosts::address(0));
    const std::string most = std::to_string(bytes.size() + (std::size_t{1} << 20));
    start(0, {"--exchange-listen", source, "--exchange-peers", "token:guest", "--token-file",
              (folder_ / "token").string(), "--max-message-bytes", most});
    start(1, {"--exchange-sources", source, "--exchange-token-file", (folder_ / "token").string()});
    const auto size = static_cast<std::int64_t>(bytes.size());
    const terms::TensorView view = {bytes.data(), size, ir::ElementType::kU8, {size}};
    wanted_.address = source;
    wanted_.exchange = value_of(clients_[0]->put_tensor(view, std::int64_t{3600} * 1'000'000'000));
    wanted_.key = value_of(clients_[0]->offer_tensor(wanted_.exchange));
  }

  std::int64_t fetch() {
    const std::int64_t start_ns = system_clock().now_ns();
    const auto pulled = value_of(clients_[1]->pull_tensor(wanted_));
    const std::int64_t took_ns = system_clock().now_ns() - start_ns;
    const Status status = clients_[1]->remove_tensor(static_cast<std::uint64_t>(pulled.index));
    require(status.is_ok(), "the copy is not there");
    return took_ns;
  }

 private:
  void start(int host, std::vector<std::string> flags) {
    const fs::path folder = folder_ / std::to_string(host);
    fs::create_directories(folder);
    flags.insert(flags.end(), {"--exchange-plain", "--sim", (folder_ / "machine.json").string()});
    require(hosts_.enter(host).is_ok(), "cannot enter a host");
    daemons_.push_back(start_daemon(folder.string(), flags));
    rpc::client::ClientOptions options;
    options.address = "unix:" + (folder / "sluice.sock").string();
    options.connect_timeout_ns = 20'000'000'000;
    clients_.push_back(value_of(Client::create(options)));
    value_of(clients_.back()->open_session("two_hosts"));
  }

  const TwoHosts& hosts_;
  const fs::path folder_;
  std::vector<Process> daemons_;
  std::vector<std::unique_ptr<Client>> clients_;
  terms::OfferedTensor wanted_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Times of one kind of copy, each with the fetch beside it.
struct Series {
  std::vector<double> rates;  ///< MiB/s
  std::vector<double> ratios;

  void add(double mib, std::int64_t took_ns, std::int64_t fetch_ns) {
    rates.push_back(mib * 1e9 / static_cast<double>(took_ns));
    ratios.push_back(static_cast<double>(took_ns) / static_cast<double>(fetch_ns));
  }
  void print(const char* name) const {
    fmt::print("{} {:.0f} MiB/s, ratio {:.2f} (least {:.2f}, most {:.2f})\n", name, median(rates),
               median(ratios), *std::ranges::min_element(ratios),
               *std::ranges::max_element(ratios));
  }
};

void measure(const TwoHosts& hosts, const fs::path& folder, std::size_t mib, int rounds) {
  std::vector<char> bytes(mib << 20, 7);
  Exchange exchange(hosts, folder, bytes);
  Series small;
  Series huge;
  std::vector<double> fetch_rates;
  const auto size = static_cast<double>(mib);
  (void)exchange.fetch();
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t small_ns = copy_plainly(hosts, bytes, small_pages);
    const std::int64_t fetch_ns = exchange.fetch();
    small.add(size, small_ns, fetch_ns);
    huge.add(size, copy_plainly(hosts, bytes, huge_pages), fetch_ns);
    fetch_rates.push_back(size * 1e9 / static_cast<double>(fetch_ns));
  }
  fmt::print("{} MiB, {} rounds: fetch {:.0f} MiB/s\n", mib, rounds, median(fetch_rates));
  small.print("socket");
  huge.print("socket, huge pages");
}

int run(std::size_t mib, int rounds) {
  const auto hosts = TwoHosts::create();
  if (!hosts.is_ok()) {
    fmt::print("skipped: {}\n", hosts.status().message());
    return 77;
  }
  std::string pattern = (fs::temp_directory_path() / "sluice-hosts-XXXXXX").string();
  require(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
  measure(*hosts, pattern, mib, rounds);
  fs::remove_all(pattern);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const long mib = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 256;
  const long rounds = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 21;
  if (argc > 3 || mib < 1 || mib > 1000 || rounds < 1 || rounds > 10'000) {
    fmt::print(stderr, "usage: two_hosts [MIB (1 to 1000) [ROUNDS]]\n");
    return 2;
  }
  return sluice::bench::run(static_cast<std::size_t>(mib), static_cast<int>(rounds));
}

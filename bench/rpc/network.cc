#include "network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::bench {
namespace {

bool runs(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;  // NOLINT(cert-env33-c)
}

}  // namespace

Result<TwoHosts> TwoHosts::create() {
  if (geteuid() != 0) {
    return make_error(Code::kPermissionDenied, "namespaces of the network need root");
  }
  TwoHosts hosts(fmt::format("sluice{}-", getpid()));
  const std::string veth = fmt::format("sl{}x", getpid());
  bool is_made =
      runs(fmt::format("ip netns add {} && ip netns add {}", hosts.host(0), hosts.host(1))) &&
      runs(fmt::format("ip link add {0}0 netns {1} type veth peer name {0}1 netns {2}", veth,
                       hosts.host(0), hosts.host(1)));
  for (int i = 0; is_made && i < 2; ++i) {
    is_made =
        runs(fmt::format("ip -n {0} addr add {1}/24 dev {2}{3} && ip -n {0} link set {2}{3} up "
                         "&& ip -n {0} link set lo up",
                         hosts.host(i), address(i), veth, i));
  }
  if (is_made) return hosts;
  return make_error(Code::kUnavailable, "`ip` cannot make namespaces and interfaces here");
}

TwoHosts::TwoHosts(TwoHosts&& other) noexcept : name_(std::exchange(other.name_, {})) {}

TwoHosts::~TwoHosts() {
  if (name_.empty()) return;
  for (int i = 0; i < 2; ++i) (void)runs("ip netns del " + host(i));
}

Status TwoHosts::enter(int number) const {
  const int fd = open(("/run/netns/" + host(number)).c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_there = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (is_there) return ok_status();
  return make_error(Code::kUnavailable, "namespace {}: {}", host(number), std::strerror(error));
}

}  // namespace sluice::bench

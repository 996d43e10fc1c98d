// `sluice-worker`: started by sluiced, which speaks to it through file 3.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "worker/program/server.h"

namespace {

constexpr int kSocketFd = 3;

}  // namespace

int main() {
  // What a terminal or a service manager sends is the daemon's to answer.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (fcntl(kSocketFd, F_GETFD) < 0 || close_range(kSocketFd + 1, ~0U, 0) != 0) {
    std::fprintf(stderr, "sluice-worker is started by sluiced\n");
    return 2;
  }
  _exit(sluice::worker::serve(kSocketFd));
}

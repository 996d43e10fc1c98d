// Preloaded into a daemon: a successor stops where it would set its alarm, as a process of its own
// that serves nobody yet, until a signal continues it.
#include <signal.h>
#include <unistd.h>

__attribute__((visibility("default"))) unsigned alarm(unsigned seconds) {
  if (seconds > 0) raise(SIGSTOP);
  return 0;
}

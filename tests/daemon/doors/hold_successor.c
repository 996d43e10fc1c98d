// Preloaded into a daemon: its successors stop before `main`, until a signal continues them.
#include <signal.h>
#include <stdlib.h>

__attribute__((constructor)) static void hold_successor(void) {
  if (getenv("SLUICED_PREDECESSOR") != NULL) raise(SIGSTOP);
}

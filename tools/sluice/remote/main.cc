// `sluice-remote`: the subcommands of `sluice` that speak to a daemon. `sluice` starts it.
#include "sluice/remote/commands.h"
#include "sluice/run_commands.h"

int main(int argc, char** argv) {
  return sluice::tool::run_commands(sluice::tool::make_remote_commands(), {}, argc, argv);
}

// `sluice-remote`: the subcommands of `sluice` that speak to a daemon. `sluice` starts it.
#include "rpc/wire/locks/lock_checks.h"
#include "sluice/cli/run_commands.h"
#include "sluice/remote/commands.h"

int main(int argc, char** argv) {
  sluice::rpc::wire::skip_lock_checks();
  return sluice::tool::run_commands(sluice::tool::make_remote_commands(),
                                    {sluice::tool::CommandProgram::kRemote}, argc, argv);
}

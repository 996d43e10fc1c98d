#pragma once

namespace sluice::tool {

/// The program `sluice`. Gives its exit status.
int run_program(int argc, char** argv);

}  // namespace sluice::tool

// The command line of sluiced.
#pragma once

#include <string>

#include "daemon/settings.h"

namespace sluice::daemon {

struct Invocation {
  Settings settings;
  Origins origins;
  std::string config;          ///< the file that was asked for, or the default one
  bool only_checks = false;    ///< --check-config
  bool prints_schema = false;  ///< --print-schema
  bool is_done = false;        ///< -h, -v or wrong usage: end with exit_code
  int exit_code = 0;
};

/// Reads the flags, the file they name (or the default one, if it is there) and the files *.json of
/// the folder beside it (/etc/sluice/sluiced.d for /etc/sluice/sluiced.json) in the order of their
/// names. Puts flags over files over defaults, and a later file over those before it. Prints what
/// -h and -v ask for. Fails: kInvalidArgument, kNotFound for the file, naming it and the key.
Result<Invocation> read_command_line(int argc, char** argv);

}  // namespace sluice::daemon

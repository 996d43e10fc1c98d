// What somebody who helps from afar wants to know of a daemon and its machine, in one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::tool {

/// Returns the address of /metrics in settings that `sluiced --check-config` printed. Empty if they
/// name none, or have the form of another version.
std::string metrics_address(const std::string& settings);

/// Writes a tar of: the machine and its plug-ins, the settings with their origins, the daemon's
/// health, activity, statistics, models, groups, sessions and metrics, and the end of its journal.
/// The archive holds names of files, users and tokens, and no secret: tokens, keys and tensors stay
/// where they are. Each file has at most a MiB. The file errors.txt names what the others lack,
/// such as the answers of a daemon that has ended. `connection`: options of all commands that ask
/// the daemon; a token is in the environment, where other users cannot read it. `config`: as
/// sluiced's; empty: the default one. Fails: as write_file_atomically.
Status write_bundle(const std::filesystem::path& path, std::vector<std::string> connection,
                    const std::string& config);

}  // namespace sluice::tool

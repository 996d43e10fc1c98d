// What is checked of a plug-in before any of it is called.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/dynlib.h"
#include "base/result.h"
#include "sluice/backend.h"

namespace sluice::backend {

/// `<name>` of `libsluice_backend_<name>.so`; nullopt for any other file name.
std::optional<std::string> plugin_name(const std::filesystem::path& path);

/// A text of a plug-in's, read up to `limit` characters; nullopt if it is null, empty or longer.
std::optional<std::string> bounded_text(const char* text, std::size_t limit);

/// Asks the entry of an opened plug-in for its table, and checks version, name and completeness.
/// Fails: kFailedPrecondition with what is wrong and what this host expects.
Result<const sluice_backend_api*> shake_hands(const DynamicLibrary& library,
                                              const std::string& name);

}  // namespace sluice::backend

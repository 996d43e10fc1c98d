#include "daemon/flags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text/version.h"

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 256;

/// A flag that was bound to a member of settings of the flags' own.
struct Bound {
  const SettingInfo* info;
  CLI::Option* option;
};

std::string names_of(const SettingInfo& info) {
  std::string names = info.flag();
  if (info.short_flag != 0) names = fmt::format("-{},{}", info.short_flag, names);
  return names;
}

Bound bind(CLI::App& app, const SettingInfo& info, Settings& to) {
  const std::string names = names_of(info);
  const std::string help(info.help);
  if (const auto* flag = std::get_if<bool Settings::*>(&info.member)) {
    return {&info, app.add_flag(names, to.*(*flag), help)};
  }
  if (const auto* number = std::get_if<std::int64_t Settings::*>(&info.member)) {
    auto* option = app.add_option(names, to.*(*number), help)->capture_default_str();
    return {&info, option->take_last()->check(CLI::Range(info.least, info.most))};
  }
  if (const auto* texts = std::get_if<SettingInfo::Texts Settings::*>(&info.member)) {
    auto* option = app.add_option(names, to.*(*texts), help)->capture_default_str();
    return {&info, option->allow_extra_args(false)};
  }
  const auto* text = std::get_if<std::string Settings::*>(&info.member);
  return {&info, app.add_option(names, to.*(*text), help)->take_last()->capture_default_str()};
}

void copy_value(const SettingInfo& info, const Settings& from, Settings& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, info.member);
}

/// "/etc/sluice/sluiced.d" for "/etc/sluice/sluiced.json".
fs::path folder_of(fs::path config) { return config.replace_extension(".d"); }

/// What packages and administrators drop in, by name; hidden files are an editor's.
Result<std::vector<fs::path>> dropped_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() != ".json" || path.filename().string().starts_with(".")) continue;
    files.push_back(path);
    if (files.size() > kMaxFiles) {
      return invalid_argument("{} has more than {} files of settings", folder.string(), kMaxFiles);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return errno_error(error.value(), "read", folder);
  }
  std::ranges::sort(files);
  return files;
}

Status read_config(Invocation& invocation, bool is_named) {
  if (!is_named) invocation.config = kDefaultConfig;
  std::vector<fs::path> files;
  std::error_code error;
  if (is_named || fs::exists(invocation.config, error)) files.emplace_back(invocation.config);
  for (fs::path& file : SLUICE_TRY(dropped_in(folder_of(invocation.config)))) {
    files.push_back(std::move(file));
  }
  for (const fs::path& file : files) {
    const std::string text = SLUICE_TRY(read_text_file(file, std::int64_t{1} << 20));
    SLUICE_TRY(apply_config(text, invocation.settings, invocation.origins, file.string())
                   .with_context(file.string()));
  }
  return ok_status();
}

}  // namespace

Result<Invocation> read_command_line(int argc, char** argv) {
  Invocation invocation;
  // Flags have settings of their own: the file is read after them and must not overwrite them.
  Settings flags;
  CLI::App app("Owns the devices of this machine and runs models on them for its clients.",
               "sluiced");
  app.set_version_flag("-v,--version", fmt::format("sluiced {}", kSluiceVersion));
  auto* config = app.add_option(
      "-c,--config", invocation.config,
      fmt::format("Configuration file (default: {}, if it is there); files *.json of the folder "
                  "beside it, FILE with .d for .json, are read after it",
                  kDefaultConfig));
  app.add_flag("--check-config", invocation.only_checks,
               "Print the effective settings and where each comes from, and end");
  app.add_flag("--print-schema", invocation.prints_schema,
               "Print the JSON schema of the configuration file, and end");
  std::vector<Bound> bound;
  for (const SettingInfo& info : setting_infos()) bound.push_back(bind(app, info, flags));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    invocation.is_done = true;
    invocation.exit_code = app.exit(error) == 0 ? 0 : 2;
    return invocation;
  }
  SLUICE_TRY(read_config(invocation, config->count() > 0));
  for (const Bound& one : bound) {
    if (one.option->count() == 0) continue;
    copy_value(*one.info, flags, invocation.settings);
    invocation.origins[std::string(one.info->key)] = {Origin::kFlag};
  }
  SLUICE_TRY(check_settings(invocation.settings));
  return invocation;
}

}  // namespace sluice::daemon

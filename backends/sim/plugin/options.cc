#include "plugin/options.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace sluice::sim {
namespace {

constexpr std::int64_t kLargestFile = std::int64_t{16} << 20;

Status read_file(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (size < 0) return {SLUICE_NOT_FOUND, "description: cannot read the file \"" + path + "\""};
  if (size > kLargestFile) {
    return plugin::invalid_argument("description: \"" + path + "\" has " + std::to_string(size) +
                                    " bytes; no description has more than " +
                                    std::to_string(kLargestFile));
  }
  file.seekg(0);
  text->assign(std::istreambuf_iterator<char>(file), {});
  return plugin::ok();
}

}  // namespace

Status read_options(std::span<const sluice_option> options, Description* description) {
  if (const char* machine = std::getenv("SLUICE_SIM"); options.empty() && machine != nullptr) {
    const sluice_option option = {"description", machine};
    return read_options({&option, 1}, description);
  }
  for (const sluice_option& option : options) {
    if (std::string_view(option.name) != "description") {
      return plugin::invalid_argument("unknown option \"" + std::string(option.name) +
                                      "\"; there is: description");
    }
    std::string text = option.value;
    if (text.starts_with('@')) {
      if (Status status = read_file(text.substr(1), &text); !status.is_ok()) return status;
    }
    if (Status status = parse_description(text, description); !status.is_ok()) {
      return {status.code, "description: " + status.text};
    }
  }
  return plugin::ok();
}

}  // namespace sluice::sim

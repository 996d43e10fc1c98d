#include "options/renamed.h"

#include <array>

namespace sluice::options {
namespace {

struct Renamed {
  std::string_view command;
  std::string_view option;  ///< empty: the command itself
  std::string_view now;
};

constexpr std::array kRenamed = {
    Renamed{"measure", "", "`sluice operator-times`"},
    Renamed{"profile", "", "`sluice timeline`"},
    Renamed{"compile", "--profile", "--operator-times"},
    Renamed{"link", "--profile", "--operator-times"},
    Renamed{"link", "--keep", "--expose"},
    Renamed{"quantize", "--keep", "--f32"},
    Renamed{"quantize", "--dynamic", "`sluice compile --weights int8`"},
    Renamed{"run", "--trace", "--timeline"},
    Renamed{"infer", "--keep", "--put"},
};

std::optional<std::string_view> find(std::string_view command, std::string_view option) {
  for (const Renamed& renamed : kRenamed) {
    if (renamed.command == command && renamed.option == option) return renamed.now;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> find_new_command(std::string_view name) { return find(name, ""); }

std::optional<std::string_view> find_new_option(std::string_view command, std::string_view name) {
  return find(command, name);
}

}  // namespace sluice::options

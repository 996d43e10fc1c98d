#include "options/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/text/number.h"
#include "options/seconds.h"

namespace sluice::options {
namespace {

/// More threads than the largest machines have processors: certainly a slip.
constexpr std::int32_t kMaxThreads = 512;
/// 31 years: more is certainly a slip, and nanoseconds of it fit 64 bits.
constexpr double kMaxSeconds = 1e9;

/// CLI11 reads numbers of an option by its type, after this check; NaN would pass every comparison.
std::optional<double> parse_number(const std::string& text) {
  const auto number = to_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// A check of CLI11 that answers `message` unless `is_right` holds of the number.
template <class IsRight>
CLI::Validator number_check(const std::string& message, const std::string& hint, IsRight is_right) {
  return CLI::Validator(
      // Copies, as the check outlives the call. An empty answer means that the text is right.
      [message, is_right](std::string& text) {
        const std::optional<double> number = parse_number(text);
        if (!number) return fmt::format("\"{}\" is not a number", text);
        return is_right(*number) ? std::string() : fmt::format("{} is {}", text, message);
      },
      hint);
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::repeatable() {
  option_->take_all();
  return *this;
}

Option& Option::separated_by_commas() {
  option_->delimiter(',');
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::takes(int low, int high) {
  option_->expected(low, high);
  return *this;
}

Option& Option::between(double low, double high) {
  // A double holds all limits of options exactly; the value itself is read as its own type.
  option_->check(number_check(fmt::format("not between {} and {}", low, high),
                              fmt::format("{} to {}", low, high),
                              [=](double number) { return number >= low && number <= high; }));
  return *this;
}

Option& Option::at_least(double low) {
  option_->check(number_check(fmt::format("less than {}", low), fmt::format(">= {}", low),
                              [=](double number) { return number >= low; }));
  return *this;
}

Option& Option::positive() {
  option_->check(number_check("not above 0", "> 0", [](double number) { return number > 0; }));
  return *this;
}

Option& Option::one_of(std::initializer_list<const char*> words) {
  option_->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
  return *this;
}

Option& Option::reads_environment(const char* variable) {
  option_->envname(variable);
  return *this;
}

Option& Option::takes_size() {
  // 512m is 512 MiB, as for docker and systemd.
  option_->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  return *this;
}

Option& Option::takes_seconds(std::int64_t standard_ns) {
  option_->type_name("FLOAT");
  // CLI11 reads the number from the text that a transformation leaves. A check gets a copy.
  option_->transform(CLI::Validator(
      [](std::string& text) {
        const std::optional<double> seconds = parse_number(text);
        if (!seconds) return fmt::format("\"{}\" is not a number", text);
        if (*seconds < 0 || *seconds > kMaxSeconds) {
          return fmt::format("{} is not between 0 and {} seconds", text, kMaxSeconds);
        }
        text = std::to_string(nanoseconds_of(*seconds));
        return std::string();
      },
      fmt::format("0 to {}", kMaxSeconds)));
  if (standard_ns >= 0) {
    option_->default_str(fmt::format("{}", static_cast<double>(standard_ns) / 1e9));
  }
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

bool Option::is_given() const { return option_ != nullptr && option_->count() > 0; }

template <typename T>
Option Options::add(const char* names, T& value, const char* help) {
  return Option(app_.add_option(names, value, help));
}
template Option Options::add(const char*, std::string&, const char*);
template Option Options::add(const char*, std::int32_t&, const char*);
template Option Options::add(const char*, std::int64_t&, const char*);
template Option Options::add(const char*, std::uint64_t&, const char*);
template Option Options::add(const char*, std::optional<std::int32_t>&, const char*);
template Option Options::add(const char*, std::optional<std::int64_t>&, const char*);
template Option Options::add(const char*, std::optional<std::uint64_t>&, const char*);
template Option Options::add(const char*, std::optional<float>&, const char*);
template Option Options::add(const char*, float&, const char*);
template Option Options::add(const char*, double&, const char*);
template Option Options::add(const char*, std::vector<std::string>&, const char*);
template Option Options::add(const char*, std::vector<std::int32_t>&, const char*);
template Option Options::add(const char*, std::vector<float>&, const char*);

Option Options::find(const char* name) const { return Option(app_.get_option(name)); }
Option Options::flag(const char* names, bool& value, const char* help) {
  return Option(app_.add_flag(names, value, help));
}

Option Options::add_threads(std::int32_t& value, const char* help) {
  return add("--threads", value, help).between(0, kMaxThreads).shows_default();
}

}  // namespace sluice::options

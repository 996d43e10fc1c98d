// The options and arguments of a subcommand. CLI11 stays behind this header: a source that includes
// CLI11 takes 4 s longer to compile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name in CLI11
class App;
class Option;
}  // namespace CLI

namespace sluice::options {

/// One option or argument. A handle: copies mean the same option, and all live as long as the
/// Options.
class Option {
 public:
  Option() = default;
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& repeatable();              ///< given several times, each with one value
  Option& separated_by_commas();     ///< "a,b" are two values
  Option& shows_default();           ///< the help prints the variable's value
  Option& takes(int low, int high);  ///< number of values
  /// Numbers outside are refused. The ends belong to the range.
  Option& between(double low, double high);
  Option& at_least(double low);
  Option& positive();
  Option& one_of(std::initializer_list<const char*> words);
  Option& reads_environment(const char* variable);  ///< used if the option is not given
  Option& takes_size();                             ///< "64k" or "2GiB", in powers of 1024
  /// Up to 1e9 seconds, for a variable of nanoseconds. The help prints `standard_ns`, if not below
  /// 0.
  Option& takes_seconds(std::int64_t standard_ns = -1);
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

  /// After parsing: whether the command line or the environment has it.
  bool is_given() const;

 private:
  CLI::Option* option_ = nullptr;
};

/// Where a subcommand declares its options. Each is bound to a variable that must outlive the
/// parsing.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  // `names`: "--seconds", "-o,--output", or "model" for an argument by position.
  /// `T` is a text, a number, an optional number or a vector of texts or numbers: what options.cc
  /// names.
  template <typename T>
  Option add(const char* names, T& value, const char* help);
  Option find(const char* name) const;  ///< one that was added
  /// True if given; a leading '!' in `names` means false if given.
  Option flag(const char* names, bool& value, const char* help);

  /// Number of threads; 0 takes all processors.
  Option add_threads(std::int32_t& value, const char* help);

 private:
  CLI::App& app_;
};

}  // namespace sluice::options

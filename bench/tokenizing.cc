// Encodes the lines of a text with a tokenizer.json for some seconds, on one thread, and prints
// MB/s.
//   bench/tokenizing TOKENIZER TEXT SECONDS
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "text/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = text.find('\n');
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  }
  return lines;
}

sluice::Result<double> megabytes_per_second(const char* file, const char* text_file,
                                            double seconds) {
  const std::string json = SLUICE_TRY(sluice::read_text_file(file));
  const auto tokenizer = SLUICE_TRY(sluice::text::Tokenizer::read(json));
  const std::string text = SLUICE_TRY(sluice::read_text_file(text_file));
  const auto lines = lines_of(text);
  const Clock::time_point start = Clock::now();
  std::size_t bytes = 0;
  double taken = 0;
  while (taken < seconds) {
    for (const std::string_view line : lines) SLUICE_TRY(tokenizer.encode(line));
    bytes += text.size();
    taken = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>(bytes) / 1e6 / taken;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: {} TOKENIZER TEXT SECONDS\n", argv[0]);
    return 2;
  }
  const auto speed = megabytes_per_second(argv[1], argv[2], std::atof(argv[3]));
  if (!speed.is_ok()) {
    fmt::print(stderr, "{}\n", speed.status().to_string());
    return 1;
  }
  fmt::print("{}\n", *speed);
  return 0;
}

#include "sluice/model/preprocessing_facts.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace sluice::tool {
namespace {

constexpr const char* kResize = "image.resize";
constexpr const char* kMean = "image.mean";
constexpr const char* kDeviation = "image.std";
constexpr int kMaxResize = 16384;  // as --resize
// A package comes from outside. More numbers than an image has channels are refused early.
constexpr std::size_t kMaxNumbers = 16;

std::string list_text(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

/// The numbers of "0.485,0.456"; empty if the fact is absent.
Result<std::vector<float>> numbers_of(const Facts& facts, const char* key) {
  std::vector<float> numbers;
  const auto found = facts.find(key);
  if (found == facts.end() || found->second.empty()) return numbers;
  std::string_view rest = found->second;
  while (!rest.empty() && numbers.size() < kMaxNumbers) {
    float number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (problem != std::errc() || !std::isfinite(number)) break;
    numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return numbers;
    if (rest.front() != ',') break;
    rest.remove_prefix(1);
  }
  return make_error(Code::kDataLoss, "the package's fact \"{}\" is \"{}\", not numbers", key,
                    found->second);
}

}  // namespace

void record_preprocessing(const Preprocessing& preprocessing, Facts& facts) {
  if (preprocessing.resize > 0) {
    facts.insert_or_assign(kResize, std::to_string(preprocessing.resize));
  }
  if (!preprocessing.means.empty()) facts.insert_or_assign(kMean, list_text(preprocessing.means));
  if (!preprocessing.deviations.empty()) {
    facts.insert_or_assign(kDeviation, list_text(preprocessing.deviations));
  }
}

Status fill_preprocessing(const Facts& facts, Preprocessing& preprocessing) {
  // What the command line says has precedence over the package.
  if (preprocessing.means.empty()) preprocessing.means = SLUICE_TRY(numbers_of(facts, kMean));
  if (preprocessing.deviations.empty()) {
    preprocessing.deviations = SLUICE_TRY(numbers_of(facts, kDeviation));
  }
  const auto resize = SLUICE_TRY(numbers_of(facts, kResize));
  if (preprocessing.resize != 0 || resize.empty()) return ok_status();
  const float pixels = resize.front();
  if (resize.size() != 1 || pixels < 1 || pixels > static_cast<float>(kMaxResize)) {
    return make_error(Code::kDataLoss, "the package's fact \"{}\" is not 1 to {} pixels", kResize,
                      kMaxResize);
  }
  preprocessing.resize = static_cast<int>(pixels);
  return ok_status();
}

}  // namespace sluice::tool

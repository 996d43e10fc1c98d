#include "sluice/cli/figures.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "sluice/devices/device_table.h"
#include "support/paths.h"

namespace sluice::tool {
namespace {

std::string written(const std::string& as, const nlohmann::json& value) {
  if (as == "count") return describe_count(value);
  if (as == "rate") return three_digits(value);
  if (as == "duration") return describe_duration(value);
  if (as == "age") return describe_age(value);
  if (as == "percent") return describe_share(value);
  if (as == "bytes") return format_bytes(value);
  return "no such form: " + as;
}

TEST(Figures, AreWrittenAsOnThePage) {
  std::ifstream file(sluice::testing::source_path("tests/page/words.json"));
  const nlohmann::json forms = nlohmann::json::parse(file);
  int num_examples = 0;
  for (const auto& [as, examples] : forms.items()) {
    for (const auto& [text, value] : examples.items()) {
      EXPECT_EQ(written(as, value), text) << as << " of " << value;
      ++num_examples;
    }
  }
  EXPECT_GT(num_examples, 30);
}

}  // namespace
}  // namespace sluice::tool

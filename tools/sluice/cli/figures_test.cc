#include "sluice/cli/figures.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <type_traits>

#include "base/text/plural.h"
#include "sluice/devices/device_table.h"
#include "support/paths.h"

namespace sluice::tool {
namespace {

terms::Sensors sensors_of(const nlohmann::json& from) {
  const auto read = [&](const char* key, auto& to) {
    if (from.contains(key)) to = from[key].get<typename std::decay_t<decltype(to)>::value_type>();
  };
  terms::Sensors to;
  read("temperature_c", to.temperature_c);
  read("power_w", to.power_w);
  read("num_corrected_errors", to.num_corrected_errors);
  read("num_uncorrected_errors", to.num_uncorrected_errors);
  read("num_throttles", to.num_throttles);
  to.fault = from.value("fault", "");
  return to;
}

std::string written(const std::string& as, const nlohmann::json& value) {
  if (as == "count") return describe_count(value);
  if (as == "counted") return describe_count(value[0], value[1].get<std::string>());
  if (as == "rate") return three_digits(value);
  if (as == "duration") return describe_duration(value);
  if (as == "age") return describe_age(value);
  if (as == "percent") return describe_share(value);
  if (as == "bytes") return format_bytes(value);
  if (as == "sensors") return describe_sensors(sensors_of(value));
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

#include "http/open_inference/load_field.h"

#include <fmt/format.h>

namespace sluice::http {

std::string load_field(std::string_view format, const service::LoadReport& report) {
  constexpr std::string_view kName = "endpoint-load-metrics";
  if (format == "text") {
    return fmt::format(
        "{}: TEXT application_utilization={:.6g}, rps_fractional={:.6g}, eps={:.6g}\r\n", kName,
        report.utilization, report.requests_per_second, report.errors_per_second);
  }
  if (format == "json") {
    return fmt::format(
        "{}: JSON {{\"application_utilization\": {:.6g}, \"rps_fractional\": {:.6g}, \"eps\": "
        "{:.6g}}}\r\n",
        kName, report.utilization, report.requests_per_second, report.errors_per_second);
  }
  return {};
}

}  // namespace sluice::http

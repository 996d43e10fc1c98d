#include "http/open_inference/region_call.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>

#include "http/json_text.h"
#include "http/open_inference/short_json.h"
#include "open_inference/request.h"

namespace sluice::http {
namespace {

using nlohmann::json;

/// A count of bytes. Absent: the fallback. Fails: kInvalidArgument for what is none.
Result<std::uint64_t> count_of(const json& from, const char* name, std::uint64_t fallback) {
  const auto found = from.find(name);
  if (found == from.end() || found->is_null()) return fallback;
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  // JSON has one kind of number: a client that computed one writes 4096.0.
  const double given = found->is_number_float() ? found->get<double>() : -1;
  if (given < 0 || given > 0x1p53 || given != std::trunc(given)) {
    return invalid_argument("\"{}\" is no number of bytes", name);
  }
  return static_cast<std::uint64_t>(given);
}

Result<terms::NamedRegion> read_region(const std::string& name, std::string_view body) {
  const json wanted = SLUICE_TRY(read_short_json(body));
  const auto key = wanted.find("key");
  if (key == wanted.end() || !key->is_string()) {
    return invalid_argument("\"key\" is the name of the shared memory, such as \"/frames\"");
  }
  terms::NamedRegion region;
  region.name = name;
  region.key = key->get<std::string>();
  region.offset = SLUICE_TRY(count_of(wanted, "offset", 0));
  region.size_bytes = SLUICE_TRY(count_of(wanted, "byte_size", 0));
  return region;
}

Reply list_of(const std::vector<terms::NamedRegion>& regions) {
  json list = json::array();
  for (const terms::NamedRegion& region : regions) {
    list.push_back({{"name", region.name},
                    {"key", region.key},
                    {"offset", region.offset},
                    {"byte_size", region.size_bytes}});
  }
  return {200, kJson, json_text(list)};
}

}  // namespace

Result<Reply> region_call(service::Service& service, const service::Caller& caller,
                          const Request& request, const std::vector<std::string>& segments) {
  const bool has_region = segments.size() == 4 && segments[1] == "region";
  if (!has_region && segments.size() != 2) return error_reply(404, "no such path");
  const std::string& name = has_region ? segments[2] : std::string();
  const std::string& what = segments.back();
  const bool is_cuda = segments.front() == kCudaRegions;
  if (what == "status") {
    if (request.method != "GET") return wrong_method("GET");
    if (is_cuda) {
      SLUICE_TRY(open_inference::find_cuda_region(name));
      return Reply{200, kJson, "[]"};
    }
    return list_of(SLUICE_TRY(service.list_parts(caller, name)));
  }
  const bool is_new = what == "register" && has_region;
  if (!is_new && what != "unregister") return error_reply(404, "no such path");
  if (request.method != "POST") return wrong_method("POST");
  if (is_cuda) {
    if (is_new) SLUICE_TRY(open_inference::register_cuda_region(name));
  } else if (is_new) {
    const auto region = SLUICE_TRY(read_region(name, request.body->bytes()));
    SLUICE_TRY(service.register_part(caller, region));
  } else {
    service.unregister_parts(caller, name);
  }
  return Reply{200, kJson, "{}"};
}

}  // namespace sluice::http

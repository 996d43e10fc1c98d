#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <utility>
#include <vector>

#include "http_client/http_client.h"
#include "perf/clients/metadata.h"
#include "perf/clients/served_model.h"
#include "tls/context.h"

namespace sluice::perf {
namespace {

using http_client::HttpClient;
using http_client::HttpReply;
using nlohmann::json;

constexpr std::size_t kMaxShownBytes = 300;
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

/// A part of a path, percent-encoded (RFC 3986, section 2.3).
std::string encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

/// The "error" of a reply, or the reply.
Status error_of(const HttpReply& reply) {
  // What is longer is no message for a reader, and its JSON would take a multiple of its memory.
  constexpr std::size_t kMaxParsedBytes = 65536;
  const bool is_short = reply.body.size() <= kMaxParsedBytes;
  const json all = json::parse(is_short ? reply.body : "", nullptr, /*allow_exceptions=*/false);
  const auto error = all.is_object() ? all.find("error") : all.end();
  const std::string& text =
      error != all.end() && error->is_string() ? error->get_ref<const std::string&>() : reply.body;
  return make_error(Code::kFailedPrecondition, "status {}: {}", reply.status,
                    text.substr(0, kMaxShownBytes));
}

class HttpTarget final : public Target {
 public:
  HttpTarget(ServedModel model, std::unique_ptr<HttpClient> client)
      : model_(std::move(model)), client_(std::move(client)) {}

  /// For the model's metadata, by a client that need not be as quick as that of the requests.
  Status ask(HttpClient& client) {
    const auto request = std::make_shared<const std::string>(head("GET", "") + "\r\n");
    const HttpReply reply =
        SLUICE_TRY(http_client::ask(client, request).with_context(model_.server.address));
    if (reply.status != 200) return error_of(reply).with_context(model_.server.address);
    signature_ = SLUICE_TRY(parse_metadata(reply.body)
                                .with_context("the model's metadata")
                                .with_context(model_.server.address));
    return ok_status();
  }

  const terms::Signature& signature() const override { return signature_; }

  Status add_request(const std::vector<terms::NamedTensor>& inputs) override {
    json list = json::array();
    std::string binary;
    for (const WireTensor& tensor : SLUICE_TRY(to_wire(inputs))) {
      list.push_back({{"name", tensor.name},
                      {"datatype", tensor.datatype},
                      {"shape", tensor.shape},
                      {"parameters", {{"binary_data_size", tensor.bytes.size()}}}});
      binary += tensor.bytes;
    }
    const std::string text =
        json{{"inputs", list}, {"parameters", {{"binary_data_output", true}}}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    requests_.push_back(std::make_shared<const std::string>(fmt::format(
        "{}Content-Type: application/octet-stream\r\nContent-Length: {}\r\n"
        "Inference-Header-Content-Length: {}\r\n\r\n{}{}",
        head("POST", "/infer"), text.size() + binary.size(), text.size(), text, binary)));
    return ok_status();
  }

  void send(std::size_t number, Done done) override {
    client_->send(requests_[number], [done = std::move(done)](Result<HttpReply> reply) {
      if (!reply.is_ok()) {
        done(reply.status());
      } else {
        done(reply->status == 200 ? ok_status() : error_of(*reply));
      }
    });
  }

 private:
  /// Without the empty line.
  std::string head(std::string_view method, std::string_view action) const {
    std::string path = "/v2/models/" + encode(model_.name);
    if (!model_.version.empty()) path += "/versions/" + encode(model_.version);
    std::string text =
        fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", method, path, action, host());
    if (!model_.server.token.empty()) {
      text += fmt::format("Authorization: Bearer {}\r\n", model_.server.token);
    }
    return text;
  }

  std::string host() const {
    const bool is_unix =
        model_.server.address.starts_with("unix:") || model_.server.address.starts_with("/");
    return is_unix ? "localhost" : model_.server.address;
  }

  const ServedModel model_;
  terms::Signature signature_;
  std::vector<std::shared_ptr<const std::string>> requests_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace

Result<std::unique_ptr<Target>> connect_http(const ServedModel& model) {
  ServedModel served = model;
  rpc::client::ClientOptions& server = served.server;
  bool has_tls = !server.ca.empty();
  if (server.address.starts_with(kHttps)) {
    has_tls = true;
    server.address.erase(0, kHttps.size());
  } else if (server.address.starts_with(kHttp)) {
    if (has_tls) return invalid_argument("{}: --ca is for https://", server.address);
    server.address.erase(0, kHttp.size());
  }
  if (!has_tls && !(server.certificate.empty() && server.key.empty())) {
    return invalid_argument("--certificate, --key: TLS needs https:// or --ca");
  }
  const auto address = SLUICE_TRY(rpc::wire::parse_address(server.address));
  tls::Context tls;
  if (has_tls) tls = SLUICE_TRY(tls::read_client({server.certificate, server.key, server.ca}));
  const auto patient = SLUICE_TRY(HttpClient::create(address, server.connect_timeout_ns, tls));
  auto client = SLUICE_TRY(HttpClient::create(address, served.timeout_ns, std::move(tls)));
  auto target = std::make_unique<HttpTarget>(std::move(served), std::move(client));
  SLUICE_TRY(target->ask(*patient));
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace sluice::perf

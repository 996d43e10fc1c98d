#include "rpc/kubelet/device_plugin.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "proto/kubelet/deviceplugin.grpc.pb.h"
#include "rpc/kubelet/plugin_service.h"
#include "rpc/kubelet/unit_table.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::kubelet {
namespace {

constexpr std::int64_t kRegisterTimeoutNs = 5'000'000'000;
/// The kubelet calls with a few lists of ids.
constexpr int kMaxMessageBytes = 1 << 20;
/// Containers would see what others have there.
constexpr std::array kSharedFolders = {"", "/", "/run", "/var/run", "/tmp", "/var"};

/// The file at a path. A new socket there is another file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;  ///< an inode's number may be given again at once

  bool operator==(const FileId&) const = default;
};

std::optional<FileId> file_at(const std::filesystem::path& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino,
                std::int64_t{found.st_ctim.tv_sec} * 1'000'000'000 + found.st_ctim.tv_nsec};
}

/// "sluice.dev/coregroup": a domain and a name, as both Kubernetes and CDI take them.
bool is_resource_name(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) return false;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const std::string_view domain = name.substr(0, slash);
  const std::string_view rest = name.substr(slash + 1);
  const auto begins_and_ends = [](std::string_view text) {
    return std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
           std::isalnum(static_cast<unsigned char>(text.back())) != 0;
  };
  return std::ranges::all_of(domain, is_plain) && std::ranges::all_of(rest, is_plain) &&
         domain.size() <= 253 && rest.size() <= 63 && begins_and_ends(domain) &&
         begins_and_ends(rest);
}

class GrpcDevicePlugin final : public DevicePlugin {
 public:
  GrpcDevicePlugin(DevicePluginOptions options, std::function<Result<std::vector<CoreUnit>>()> look)
      : options_(std::move(options)),
        look_(std::move(look)),
        service_(units_, options_.access, !options_.cdi_folder.empty()) {}
  ~GrpcDevicePlugin() override { end_server(); }

  Status step() override {
    const Status looked = look();
    if (units_.now().version == 0) return looked;
    const auto kubelet = file_at(options_.folder / "kubelet.sock");
    if (!kubelet) {
      kubelet_ = {};
      return make_error(Code::kUnavailable, "no kubelet: {} is not there",
                        (options_.folder / "kubelet.sock").string());
    }
    const bool is_served = server_ != nullptr && file_at(options_.folder / endpoint_) == socket_;
    if (!is_served) SLUICE_TRY(begin_server());
    if (!is_served || kubelet != kubelet_) {
      SLUICE_TRY(register_with_kubelet());
      kubelet_ = kubelet;
    }
    return looked;
  }

 private:
  /// The units of the daemon, or those before as unhealthy.
  Status look() {
    auto units = look_();
    if (!units.is_ok()) {
      auto before = units_.now();
      for (CoreUnit& unit : before.units) unit.is_healthy = false;
      if (before.version != 0) units_.set(std::move(before.units));
      return std::move(units).status();
    }
    SLUICE_TRY(write_cdi(*units));
    units_.set(std::move(*units));
    return ok_status();
  }

  /// Before the kubelet hears of the units. Health is no part of the file.
  Status write_cdi(const std::vector<CoreUnit>& units) {
    if (options_.cdi_folder.empty()) return ok_status();
    const std::string text = cdi_document(options_.access, units);
    if (text == cdi_text_) return ok_status();
    std::string name = options_.access.kind + ".json";
    std::ranges::replace(name, '/', '-');
    SLUICE_TRY(
        write_file_atomically(options_.cdi_folder / name, std::as_bytes(std::span(text)), 0644));
    cdi_text_ = text;
    return ok_status();
  }

  /// Each server has a name of its own: the end of one removes its file, perhaps late.
  Status begin_server() {
    end_server();
    kubelet_ = {};  // it knows the endpoint of the server before
    std::string name = options_.access.kind;
    std::ranges::replace(name, '/', '-');
    endpoint_ = fmt::format("{}-{}.sock", name, num_servers_++);
    const std::string path = (options_.folder / endpoint_).string();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    socket_ = file_at(path);
    if (server_ != nullptr && socket_) return ok_status();
    end_server();
    return make_error(Code::kUnavailable, "cannot listen at {}", path);
  }

  void end_server() {
    if (server_ == nullptr) return;
    server_->Shutdown(wire::after(0));
    server_->Wait();
    server_ = nullptr;
    socket_ = {};
  }

  Status register_with_kubelet() const {
    grpc::ChannelArguments arguments;
    // gRPC would take the socket's path, which the kubelet's library refuses.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    const auto stub = v1beta1::Registration::NewStub(
        grpc::CreateCustomChannel("unix:" + (options_.folder / "kubelet.sock").string(),
                                  grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(wire::after(kRegisterTimeoutNs));
    v1beta1::RegisterRequest request;
    request.set_version("v1beta1");
    request.set_endpoint(endpoint_);
    request.set_resource_name(options_.access.kind);
    *request.mutable_options() = PluginService::options();
    v1beta1::Empty response;
    return wire::from_grpc(stub->Register(&context, request, &response))
        .with_context("registering with the kubelet");
  }

  const DevicePluginOptions options_;
  const std::function<Result<std::vector<CoreUnit>>()> look_;
  UnitTable units_;
  PluginService service_;
  std::string cdi_text_;  ///< that was written
  int num_servers_ = 0;
  std::string endpoint_;           ///< name of the server's socket
  std::optional<FileId> socket_;   ///< the file of that name that is the server's
  std::optional<FileId> kubelet_;  ///< the socket of the kubelet that knows the endpoint
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::create(
    DevicePluginOptions options, std::function<Result<std::vector<CoreUnit>>()> look) {
  if (!is_resource_name(options.access.kind)) {
    return invalid_argument("resource \"{}\": expected DOMAIN/NAME, such as sluice.dev/coregroup",
                            options.access.kind);
  }
  if (std::ranges::find(kSharedFolders, socket_folder(options.access)) != kSharedFolders.end()) {
    return invalid_argument(
        "containers mount the folder of the daemon's socket, and {} is not the daemon's alone; let "
        "sluiced listen in a folder of its own, as unix:/run/sluice/sluice.sock",
        socket_folder(options.access));
  }
  return std::unique_ptr<DevicePlugin>(
      std::make_unique<GrpcDevicePlugin>(std::move(options), std::move(look)));
}

}  // namespace sluice::rpc::kubelet

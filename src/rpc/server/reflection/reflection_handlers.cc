#include "rpc/server/reflection/reflection_handlers.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <array>
#include <vector>

#include "proto/reflection/v1/reflection.pb.h"
#include "proto/reflection/v1alpha/reflection.pb.h"
#include "proto/sluice/v1/runtime.pb.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

/// Limit of a request, which the answer repeats.
constexpr std::size_t kMaxRequestBytes = 4096;

/// Those that GrpcServer registers.
constexpr std::array kServices = {"grpc.health.v1.Health",
                                  "grpc.reflection.v1.ServerReflection",
                                  "grpc.reflection.v1alpha.ServerReflection",
                                  "inference.GRPCInferenceService",
                                  "sluice.v1.Runtime",
                                  "xds.service.orca.v3.OpenRcaService"};

/// A file behind those that it needs, each once.
void add_with_dependencies(const FileDescriptor& file, std::vector<const FileDescriptor*>& files) {
  for (const FileDescriptor* known : files) {
    if (known == &file) return;
  }
  for (int i = 0; i < file.dependency_count(); ++i) {
    add_with_dependencies(*file.dependency(i), files);
  }
  files.push_back(&file);
}

/// All files of the services: the process may have others.
std::vector<const FileDescriptor*> served_files() {
  // This file has a service and no message, so that nothing else makes the linker take it.
  const void* volatile runtime_file = &descriptor_table_sluice_2fv1_2fruntime_2eproto;
  (void)runtime_file;
  std::vector<const FileDescriptor*> files;
  for (const char* name : kServices) {
    const auto* service = DescriptorPool::generated_pool()->FindServiceByName(name);
    if (service != nullptr) add_with_dependencies(*service->file(), files);
  }
  return files;
}

/// The file if it belongs to the services; else null.
const FileDescriptor* if_served(const FileDescriptor* file) {
  static const std::vector<const FileDescriptor*> files = served_files();
  for (const FileDescriptor* known : files) {
    if (known == file) return file;
  }
  return nullptr;
}

template <typename Response>
void write_error(grpc::StatusCode code, const char* message, Response& to) {
  to.mutable_error_response()->set_error_code(static_cast<int>(code));
  to.mutable_error_response()->set_error_message(message);
}

template <typename Response>
void write_files(const FileDescriptor* file, Response& to) {
  if (file == nullptr) {
    return write_error(grpc::StatusCode::NOT_FOUND, "the daemon's services have none of this name",
                       to);
  }
  std::vector<const FileDescriptor*> files;
  add_with_dependencies(*file, files);
  // The wanted file is the first: some clients read no other.
  for (auto it = files.rbegin(); it != files.rend(); ++it) {
    google::protobuf::FileDescriptorProto message;
    (*it)->CopyTo(&message);
    message.SerializeToString(to.mutable_file_descriptor_response()->add_file_descriptor_proto());
  }
}

template <typename Request, typename Response>
void write_answer(const Request& request, Response& to) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  *to.mutable_original_request() = request;
  to.set_valid_host(request.host());
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const char* name : kServices) {
        to.mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::kFileByFilename:
      return write_files(if_served(pool.FindFileByName(request.file_by_filename())), to);
    case Request::kFileContainingSymbol:
      return write_files(if_served(pool.FindFileContainingSymbol(request.file_containing_symbol())),
                         to);
    case Request::kFileContainingExtension:
    case Request::kAllExtensionNumbersOfType:
      // Messages of proto3 have no extensions.
      return write_error(grpc::StatusCode::NOT_FOUND, "the daemon's messages have no extensions",
                         to);
    default:
      return write_error(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", to);
  }
}

/// One question at a time, until the client has asked all.
template <typename Request, typename Response>
class ReflectionCall final : public Reactor {
 public:
  ReflectionCall(const Handlers& handlers, CallContext& context) : Reactor(context) {
    const auto caller = handlers.caller_of(context, terms::Role::kAny);
    if (caller.is_ok()) {
      start_read(request_);
    } else {
      finish(wire::to_grpc(caller.status()));
    }
  }

  void on_read_done(bool is_ok) override {
    if (!is_ok) return finish(grpc::Status::OK);
    const Status status = catch_no_memory([this] { return answer(); });
    if (!status.is_ok()) return finish(wire::to_grpc(status));
    start_write(response_);
  }
  void on_write_done(bool is_ok) override {
    if (!is_ok) return finish(grpc::Status::CANCELLED);
    start_read(request_);
  }
  void on_done() override { delete this; }

 private:
  Status answer() {
    SLUICE_TRY(wire::inflate(request_, kMaxRequestBytes));
    if (request_.ByteSizeLong() > kMaxRequestBytes) {
      return invalid_argument("a request has at most {} bytes", kMaxRequestBytes);
    }
    response_.Clear();
    write_answer(request_, response_);
    return ok_status();
  }

  Request request_;
  Response response_;
};

template <typename Request, typename Response>
void reflect(Handlers& handlers, CallContext* context) {
  new ReflectionCall<Request, Response>(handlers, *context);
}

}  // namespace

void add_reflection_calls(Handlers& handlers, Methods& methods) {
  namespace v1 = grpc::reflection::v1;
  namespace alpha = grpc::reflection::v1alpha;
  constexpr const char* kName = "ServerReflectionInfo";
  ServiceMethods<Handlers>(methods, "grpc.reflection.v1.ServerReflection", handlers)
      .add_streams(kName, reflect<v1::ServerReflectionRequest, v1::ServerReflectionResponse>);
  ServiceMethods<Handlers>(methods, "grpc.reflection.v1alpha.ServerReflection", handlers)
      .add_streams(kName, reflect<alpha::ServerReflectionRequest, alpha::ServerReflectionResponse>);
}

}  // namespace sluice::rpc::server

// The C table of a plug-in from plain C++ functions: handles become objects, statuses become codes
// and messages, structs of another version are cut to fit, and no exception escapes.
//
//   struct MyPlugin : sluice::plugin::PluginDefaults {
//     static constexpr const char* kName = "mine";
//     static constexpr const char* kVersion = "1.0";
//     using Backend = ...; using Group = ...; using Stream = ...;
//     using Kernel = ...; using CommandList = ...;
//     static Status create(std::span<const sluice_option> options, Backend** backend);
//     ...
//   };
//   SLUICE_PLUGIN(MyPlugin)
//
// `sluice/host_backend.hpp` has such a plug-in for kernels that are functions.
#pragma once

#include <concepts>
#include <cstdlib>

#include "sluice/backend.hpp"

namespace sluice::plugin {

/// The types and static functions of a plug-in. What the functions mean stands in sluice/backend.h;
/// `T**` receives a new object, which `destroy` gets back. Structs that a function fills come
/// zeroed and keep their `struct_size`.
template <typename P>
concept Plugin = requires(typename P::Backend& backend, typename P::Group& group,
                          typename P::Stream& stream, const typename P::Kernel& kernel,
                          typename P::CommandList& list, typename P::Backend** to_backend,
                          typename P::Group** to_group, typename P::Stream** to_stream,
                          typename P::Kernel** to_kernel, typename P::CommandList** to_list,
                          std::span<const sluice_option> options, std::int32_t number,
                          std::int64_t size, void* memory, void** to_memory, const char* name,
                          std::span<const std::int32_t> cores, const sluice_op& op,
                          sluice_device_info& device, sluice_op_support& support,
                          sluice_packing& packing, sluice_kernel_info& info,
                          std::span<const sluice_argument> arguments,
                          const sluice_argument& argument, std::span<void* const> bindings) {
  { P::kName } -> std::convertible_to<const char*>;
  { P::kVersion } -> std::convertible_to<const char*>;
  // devices
  { P::create(options, to_backend) } -> std::same_as<Status>;
  { P::num_devices(backend) } -> std::convertible_to<std::int32_t>;
  { P::describe(backend, number, device) } -> std::same_as<Status>;
  { P::find_extension(backend, name) } -> std::convertible_to<const void*>;
  // query
  { P::query(backend, op, support) } -> std::same_as<Status>;
  { P::packing_key(backend) } -> std::convertible_to<const char*>;
  { P::query_packing(backend, op, number, packing) } -> std::same_as<Status>;
  { P::pack(backend, op, number, memory) } -> std::same_as<Status>;
  // make_kernel
  { P::make_kernel(backend, number, op, to_kernel, info) } -> std::same_as<Status>;
  // memory
  { P::allocate(backend, number, size, to_memory) } -> std::same_as<Status>;
  P::release(backend, number, memory);
  // stream
  { P::make_group(backend, number, cores, to_group) } -> std::same_as<Status>;
  { P::make_stream(group, to_stream) } -> std::same_as<Status>;
  { P::submit(stream, list, bindings) } -> std::same_as<Status>;
  { P::wait(stream, size) } -> std::same_as<Status>;
  // list
  { P::make_list(group, to_list) } -> std::same_as<Status>;
  { P::add_kernel(list, kernel, arguments, arguments) } -> std::same_as<Status>;
  { P::add_copy(list, argument, argument, size) } -> std::same_as<Status>;
  { P::finish(list) } -> std::same_as<Status>;
};

namespace detail {

/// Copies the part of `source` that fits into the caller's struct.
template <typename Struct>
void copy_out(Struct source, Struct* target) {
  const std::uint32_t size = std::min<std::uint32_t>(target->struct_size, sizeof(Struct));
  source.struct_size = target->struct_size;
  std::memcpy(target, &source, size);
}

template <std::size_t N>
void copy_text(std::string_view text, char (&target)[N]) {
  sluice_message message = {target, N};
  write_message(&message, text);
}

inline Status check_device(std::int32_t device) {
  if (device == 0) return ok();
  return {SLUICE_NOT_FOUND, "no device " + std::to_string(device) + "; there is one, 0"};
}

inline Status check_input(const sluice_op& op, std::int32_t input) {
  if (input >= 0 && input < op.num_inputs) return ok();
  return {SLUICE_OUT_OF_RANGE, kind_of(op) + " has no input " + std::to_string(input)};
}

/// Memory of the host, aligned as the table asks.
inline Status allocate_aligned(std::int64_t size_bytes, void** address) {
  if (size_bytes < 0 || size_bytes > INT64_MAX - SLUICE_ALIGNMENT) {
    return invalid_argument("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  const auto blocks = static_cast<std::size_t>(size_bytes) / SLUICE_ALIGNMENT + 1;
  *address = std::aligned_alloc(SLUICE_ALIGNMENT, blocks * SLUICE_ALIGNMENT);
  if (*address != nullptr) return ok();
  return {SLUICE_RESOURCE_EXHAUSTED, "no memory for " + std::to_string(size_bytes) + " bytes"};
}

}  // namespace detail

/// What most plug-ins have in common: one device, host memory, nothing packed, no extension.
struct PluginDefaults {
  template <typename Backend>
  static std::int32_t num_devices(Backend& /*backend*/) {
    return 1;
  }
  template <typename Backend>
  static const void* find_extension(Backend& /*backend*/, const char* /*name*/) {
    return nullptr;
  }
  template <typename Backend>
  static const char* packing_key(Backend& /*backend*/) {
    return "";
  }
  template <typename Backend>
  static Status query_packing(Backend& /*backend*/, const sluice_op& /*op*/, std::int32_t /*input*/,
                              sluice_packing& /*packing*/) {
    return ok();
  }
  template <typename Backend>
  static Status pack(Backend& /*backend*/, const sluice_op& op, std::int32_t /*input*/,
                     void* /*packed*/) {
    return {SLUICE_FAILED_PRECONDITION, kind_of(op) + " packs no input; packing_query said so"};
  }
  template <typename Backend>
  static Status allocate(Backend& /*backend*/, std::int32_t device, std::int64_t size_bytes,
                         void** address) {
    const Status status = detail::check_device(device);
    return status.is_ok() ? detail::allocate_aligned(size_bytes, address) : status;
  }
  template <typename Backend>
  static void release(Backend& /*backend*/, std::int32_t /*device*/, void* address) {
    std::free(address);
  }
  template <typename Object>
  static void destroy(Object* object) {
    delete object;
  }
};

/// The table of `P`, which lives as long as the library. `Entry`: a type that no other library has.
/// The linker would give two plug-ins whose classes have one name the same table.
template <Plugin P, typename Entry = P>
class PluginTable {
 public:
  /// Null with a message for a host of another major version.
  static const sluice_backend_api* get(std::uint16_t host_major, sluice_message* message) {
    if (host_major != SLUICE_BACKEND_ABI_MAJOR) {
      write_message(
          message, std::string(P::kName) + ": made for another major version of the plug-in table");
      return nullptr;
    }
    static const sluice_backend_api kTable = make();
    return &kTable;
  }

 private:
  using Backend = typename P::Backend;
  using Group = typename P::Group;
  using Stream = typename P::Stream;
  using Kernel = typename P::Kernel;
  using CommandList = typename P::CommandList;

  // The C handles are pointers to the objects of `P`. The host never passes a handle of another
  // plug-in.
  static Backend& of(sluice_backend* handle) { return *reinterpret_cast<Backend*>(handle); }
  static Group& of(sluice_group* handle) { return *reinterpret_cast<Group*>(handle); }
  static Stream& of(sluice_stream* handle) { return *reinterpret_cast<Stream*>(handle); }
  static Kernel& of(sluice_kernel* handle) { return *reinterpret_cast<Kernel*>(handle); }
  static CommandList& of(sluice_command_list* handle) {
    return *reinterpret_cast<CommandList*>(handle);
  }
  template <typename Object, typename Handle>
  static Object** to(Handle** handle) {
    return reinterpret_cast<Object**>(handle);
  }
  template <typename Element>
  static std::span<Element> list_of(Element* first, std::int32_t count) {
    return {first, static_cast<std::size_t>(std::max(count, 0))};
  }

  // ---- devices and operations ----

  static sluice_code create(const sluice_option* options, std::int32_t count,
                            sluice_backend** backend, sluice_message* message) {
    return guard(message, [&] { return P::create(list_of(options, count), to<Backend>(backend)); });
  }
  static void backend_destroy(sluice_backend* backend) { P::destroy(&of(backend)); }
  static std::int32_t device_count(sluice_backend* backend) { return P::num_devices(of(backend)); }
  static const char* packing_key(sluice_backend* backend) { return P::packing_key(of(backend)); }
  static const void* find_extension(sluice_backend* backend, const char* name) {
    return P::find_extension(of(backend), name);
  }

  static sluice_code device_describe(sluice_backend* backend, std::int32_t device,
                                     sluice_device_info* info, sluice_message* message) {
    return guard(message, [&] {
      sluice_device_info told = {};
      Status status = P::describe(of(backend), device, told);
      if (status.is_ok()) detail::copy_out(told, info);
      return status;
    });
  }

  /// An operation without a kernel is an answer with a reason, not an error.
  static sluice_code op_query(sluice_backend* backend, const sluice_op* op,
                              sluice_op_support* support, sluice_message* message) {
    return guard(message, [&] {
      sluice_op_support told = {};
      const Status status = P::query(of(backend), *op, told);
      told.supported = status.is_ok() ? 1 : 0;
      detail::copy_out(told, support);
      write_message(message, status.text);
      return status.code == SLUICE_UNIMPLEMENTED ? ok() : status;
    });
  }

  static sluice_code packing_query(sluice_backend* backend, const sluice_op* op, std::int32_t input,
                                   sluice_packing* packing, sluice_message* message) {
    return guard(message, [&] {
      sluice_packing told = {};
      Status status = detail::check_input(*op, input);
      if (status.is_ok()) status = P::query_packing(of(backend), *op, input, told);
      detail::copy_out(told, packing);
      return status;
    });
  }

  static sluice_code pack(sluice_backend* backend, const sluice_op* op, std::int32_t input,
                          void* packed, sluice_message* message) {
    return guard(message, [&] {
      Status status = detail::check_input(*op, input);
      return status.is_ok() ? P::pack(of(backend), *op, input, packed) : status;
    });
  }

  static sluice_code kernel_create(sluice_backend* backend, std::int32_t device,
                                   const sluice_op* op, sluice_kernel** kernel,
                                   sluice_kernel_info* info, sluice_message* message) {
    return guard(message, [&] {
      sluice_kernel_info told = {};
      Status status = P::make_kernel(of(backend), device, *op, to<Kernel>(kernel), told);
      if (status.is_ok()) detail::copy_out(told, info);
      return status;
    });
  }
  static void kernel_destroy(sluice_kernel* kernel) { P::destroy(&of(kernel)); }

  // ---- memory, groups, streams ----

  static sluice_code memory_allocate(sluice_backend* backend, std::int32_t device,
                                     std::int64_t size_bytes, void** address,
                                     sluice_message* message) {
    return guard(message, [&] { return P::allocate(of(backend), device, size_bytes, address); });
  }
  static void memory_free(sluice_backend* backend, std::int32_t device, void* address) {
    P::release(of(backend), device, address);
  }

  static sluice_code group_create(sluice_backend* backend, std::int32_t device,
                                  const std::int32_t* cores, std::int32_t num_cores,
                                  sluice_group** group, sluice_message* message) {
    return guard(message, [&] {
      return P::make_group(of(backend), device, list_of(cores, num_cores), to<Group>(group));
    });
  }
  static void group_destroy(sluice_group* group) { P::destroy(&of(group)); }

  static sluice_code stream_create(sluice_group* group, sluice_stream** stream,
                                   sluice_message* message) {
    return guard(message, [&] { return P::make_stream(of(group), to<Stream>(stream)); });
  }
  static void stream_destroy(sluice_stream* stream) { P::destroy(&of(stream)); }
  static sluice_code stream_wait(sluice_stream* stream, std::int64_t timeout_ns,
                                 sluice_message* message) {
    return guard(message, [&] { return P::wait(of(stream), timeout_ns); });
  }

  // ---- command lists ----

  static sluice_code list_create(sluice_group* group, sluice_command_list** list,
                                 sluice_message* message) {
    return guard(message, [&] { return P::make_list(of(group), to<CommandList>(list)); });
  }
  static void list_destroy(sluice_command_list* list) { P::destroy(&of(list)); }

  static sluice_code list_add_kernel(sluice_command_list* list, sluice_kernel* kernel,
                                     const sluice_argument* inputs, std::int32_t num_inputs,
                                     const sluice_argument* outputs, std::int32_t num_outputs,
                                     sluice_message* message) {
    return guard(message, [&] {
      return P::add_kernel(of(list), of(kernel), list_of(inputs, num_inputs),
                           list_of(outputs, num_outputs));
    });
  }
  static sluice_code list_add_copy(sluice_command_list* list, const sluice_argument* source,
                                   const sluice_argument* target, std::int64_t size_bytes,
                                   sluice_message* message) {
    return guard(message, [&] { return P::add_copy(of(list), *source, *target, size_bytes); });
  }
  static sluice_code list_finish(sluice_command_list* list, sluice_message* message) {
    return guard(message, [&] { return P::finish(of(list)); });
  }
  static sluice_code list_submit(sluice_stream* stream, sluice_command_list* list,
                                 void* const* bindings, std::int32_t num_bindings,
                                 sluice_message* message) {
    return guard(message,
                 [&] { return P::submit(of(stream), of(list), list_of(bindings, num_bindings)); });
  }

  static sluice_backend_api make() {
    sluice_backend_api table = {};
    table.struct_size = sizeof(sluice_backend_api);
    table.abi_major = SLUICE_BACKEND_ABI_MAJOR;
    table.abi_minor = SLUICE_BACKEND_ABI_MINOR;
    table.name = P::kName;
    table.version = P::kVersion;
    table.packing_key = packing_key;
    table.create = create;
    table.destroy = backend_destroy;
    table.device_count = device_count;
    table.device_describe = device_describe;
    table.op_query = op_query;
    table.packing_query = packing_query;
    table.pack = pack;
    table.kernel_create = kernel_create;
    table.kernel_destroy = kernel_destroy;
    table.memory_allocate = memory_allocate;
    table.memory_free = memory_free;
    table.group_create = group_create;
    table.group_destroy = group_destroy;
    table.stream_create = stream_create;
    table.stream_destroy = stream_destroy;
    table.stream_wait = stream_wait;
    table.list_create = list_create;
    table.list_destroy = list_destroy;
    table.list_add_kernel = list_add_kernel;
    table.list_add_copy = list_add_copy;
    table.list_finish = list_finish;
    table.list_submit = list_submit;
    table.find_extension = find_extension;
    return table;
  }
};

}  // namespace sluice::plugin

/// Defines the entry of a plug-in. `P::kName` equals the name in the file name of the plug-in.
#define SLUICE_PLUGIN(P)                                                          \
  namespace {                                                                     \
  struct SluiceEntry {};                                                          \
  }                                                                               \
  extern "C" SLUICE_PLUGIN_EXPORT const sluice_backend_api* sluice_backend_entry( \
      uint16_t host_major, uint16_t, sluice_message* message) {                   \
    return sluice::plugin::PluginTable<P, SluiceEntry>::get(host_major, message); \
  }

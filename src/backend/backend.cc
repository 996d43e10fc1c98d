#include "backend/backend.h"

#include <cmath>

#include "backend/handle.h"
#include "backend/handshake.h"
#include "base/system/processor.h"
#include "sluice/extensions/topology.h"

namespace sluice::backend {
namespace {

// Bounds for what a plug-in reports: far above real machines, so that a plug-in with a fault cannot
// make the host allocate or loop without end.
constexpr std::size_t kLongestText = 256;
constexpr std::int32_t kMaxDevices = 4096;
constexpr std::int32_t kMaxLinks = 1 << 20;
// 64 TiB: sums of a few such sizes still fit in 64 bits.
constexpr std::int64_t kLargestPacking = std::int64_t{1} << 46;

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  // The plug-in fills the whole array and need not end it with NUL.
  return std::string(text, strnlen(text, N));
}

Result<DeviceInfo> checked(const sluice_device_info& info) {
  if (info.num_cores < 1 || info.memory_bytes < 0) {
    return internal_error("its device \"{}\" has {} cores and {} bytes of memory",
                          text_of(info.name), info.num_cores, info.memory_bytes);
  }
  return DeviceInfo{.kind = text_of(info.kind),
                    .name = text_of(info.name),
                    .has_host_memory = (info.flags & SLUICE_DEVICE_HOST_MEMORY) != 0,
                    .has_own_memory = (info.flags & SLUICE_DEVICE_OWN_MEMORY) != 0,
                    .is_simulated = (info.flags & SLUICE_DEVICE_SIMULATED) != 0,
                    .num_cores = info.num_cores,
                    .memory_bytes = info.memory_bytes,
                    .bus_address = text_of(info.bus_address)};
}

Result<Link> checked(const sluice_link& link, std::size_t num_devices) {
  const bool are_devices = 0 <= link.device_a && link.device_a < link.device_b &&
                           static_cast<std::size_t>(link.device_b) < num_devices;
  if (!are_devices || link.bytes_per_s < 0 || link.latency_ns < 0) {
    return internal_error("a link joins devices {} and {} of {}, with {} bytes/s and {} ns",
                          link.device_a, link.device_b, num_devices, link.bytes_per_s,
                          link.latency_ns);
  }
  return Link{link.device_a, link.device_b, link.bytes_per_s, link.latency_ns};
}

std::vector<sluice_option> as_c(const Options& options) {
  std::vector<sluice_option> all;
  for (const auto& [name, value] : options) all.push_back({name.c_str(), value.c_str()});
  return all;
}

}  // namespace

Status status_from_plugin(std::string_view plugin, sluice_code code, std::string_view text) {
  // A newer plug-in may return codes that this host does not know.
  const bool is_known = code > 0 && code <= static_cast<sluice_code>(Code::kUnauthenticated);
  return make_error(is_known ? static_cast<Code>(code) : Code::kInternal, "backend \"{}\": {}",
                    plugin, text.empty() ? "failed without a message" : text);
}

Result<std::shared_ptr<const Backend>> Backend::load(const std::filesystem::path& path,
                                                     const Options& options) {
  const auto name = plugin_name(path);
  if (!name) {
    return invalid_argument("{}: not named like a plug-in, libsluice_backend_<name>.so",
                            path.string());
  }
  const auto load_checked = [&]() -> Result<std::shared_ptr<const Backend>> {
    DynamicLibrary library = SLUICE_TRY(DynamicLibrary::open(path));
    const sluice_backend_api* api = SLUICE_TRY(shake_hands(library, *name));
    // From here on a failure destroys what exists and then closes the library.
    const std::shared_ptr<Backend> backend(new Backend(path, std::move(library), api));
    SLUICE_TRY(backend->start(options));
    return std::shared_ptr<const Backend>(backend);
  };
  return load_checked().with_context(path.string());
}

Result<std::shared_ptr<const Backend>> Backend::create(const std::string& name,
                                                       sluice_backend_entry_fn entry) {
  const sluice_backend_api* api = SLUICE_TRY(shake_hands(entry, name));
  const std::shared_ptr<Backend> backend(new Backend({}, std::nullopt, api));
  SLUICE_TRY(backend->start({}));
  return std::shared_ptr<const Backend>(backend);
}

Backend::Backend(std::filesystem::path path, std::optional<DynamicLibrary> library,
                 const sluice_backend_api* api)
    : path_(std::move(path)), library_(std::move(library)), api_(api), name_(api->name) {}

Backend::~Backend() {
  // library_ is closed after this body: destroy is code of the library.
  if (handle_ != nullptr) destroy_in_plugin([this] { api_->destroy(handle_); });
}

Status Backend::start(const Options& options) {
  // A plug-in for processors counts those that the calling thread may use.
  const OnProcessCpus on_all;
  version_ = bounded_text(api_->version, kLongestText).value_or("?");
  const std::vector<sluice_option> given = as_c(options);
  SLUICE_TRY(call_plugin(name_, api_->create, given.data(), static_cast<std::int32_t>(given.size()),
                         &handle_));
  if (handle_ == nullptr)
    return internal_error("backend \"{}\": create returned no backend", name_);
  SLUICE_TRY(call_plugin(name_, [&](sluice_message*) {
    packing_key_ = bounded_text(api_->packing_key(handle_), kLongestText).value_or("");
    return SLUICE_OK;
  }));
  SLUICE_TRY(read_devices());
  return read_links();
}

Status Backend::read_devices() {
  std::int32_t count = 0;
  SLUICE_TRY(call_plugin(name_, [&](sluice_message*) {
    count = api_->device_count(handle_);
    return SLUICE_OK;
  }));
  if (count < 1) return make_error(Code::kUnavailable, "backend \"{}\" finds no device", name_);
  if (count > kMaxDevices) return internal_error("backend \"{}\" reports {} devices", name_, count);
  for (std::int32_t i = 0; i < count; ++i) {
    sluice_device_info info = {};
    info.struct_size = sizeof(info);
    SLUICE_TRY(call_plugin(name_, api_->device_describe, handle_, i, &info));
    devices_.push_back(SLUICE_TRY(checked(info)));
  }
  return ok_status();
}

Status Backend::read_links() {
  const auto* topology =
      static_cast<const sluice_topology*>(SLUICE_TRY(find_extension(SLUICE_TOPOLOGY)));
  if (topology == nullptr) return ok_status();
  // An older plug-in has a smaller table; its later fields would be read from other memory.
  if (topology->struct_size < sizeof(sluice_topology)) {
    return internal_error("backend \"{}\": its {} has {} bytes, not {}", name_, SLUICE_TOPOLOGY,
                          topology->struct_size, sizeof(sluice_topology));
  }
  std::int32_t count = 0;
  SLUICE_TRY(call_plugin(name_, [&](sluice_message*) {
    count = topology->link_count(handle_);
    return SLUICE_OK;
  }));
  if (count < 0 || count > kMaxLinks) {
    return internal_error("backend \"{}\" reports {} links", name_, count);
  }
  for (std::int32_t i = 0; i < count; ++i) {
    sluice_link link = {};
    link.struct_size = sizeof(link);
    SLUICE_TRY(call_plugin(name_, topology->describe_link, handle_, i, &link));
    links_.push_back(SLUICE_TRY(checked(link, devices_.size()).with_context(name_)));
  }
  return ok_status();
}

Result<const void*> Backend::find_extension(const char* name) const {
  const void* table = nullptr;
  // Plug-ins built before extensions existed have a shorter table.
  if (!has_field(*api_, &sluice_backend_api::find_extension)) return table;
  SLUICE_TRY(call_plugin(name_, [&](sluice_message*) {
    table = api_->find_extension(handle_, name);
    return SLUICE_OK;
  }));
  // Callers read pointers through the table.
  if (reinterpret_cast<std::uintptr_t>(table) % alignof(void*) != 0) {
    return internal_error("backend \"{}\": its extension {} is at {}", name_, name, table);
  }
  return table;
}

Result<OpSupport> Backend::query(const Op& op) const {
  sluice_op_support told = {};
  told.struct_size = sizeof(told);
  OpSupport support;
  SLUICE_TRY(call_plugin(name_, [&](sluice_message* message) {
               const sluice_code code = api_->op_query(handle_, &op.get(), &told, message);
               if (code == SLUICE_OK && told.supported == 0) support.reason = message->text;
               return code;
             }).with_context(op.describe()));
  const auto layout = static_cast<ir::Layout>(told.preferred_layout);
  if (layout != ir::Layout::kRowMajor && layout != ir::Layout::kC16) {
    return internal_error("backend \"{}\" prefers the unknown layout {} for {}", name_,
                          told.preferred_layout, op.describe());
  }
  support.is_supported = told.supported != 0;
  // 0 stands for "unknown"; NaN and negative costs would break comparisons of placements.
  support.cost_ns = std::isfinite(told.cost_ns) && told.cost_ns > 0 ? told.cost_ns : 0;
  support.is_generic = told.is_generic != 0;
  support.native_halves = told.native_halves != 0;
  support.preferred_layout = layout;
  return support;
}

Result<std::optional<Packing>> Backend::query_packing(const Op& op, int input) const {
  sluice_packing told = {};
  told.struct_size = sizeof(told);
  SLUICE_TRY(call_plugin(name_, api_->packing_query, handle_, &op.get(), input, &told)
                 .with_context(op.describe()));
  if (told.size_bytes == 0) return std::optional<Packing>();
  Packing packing = {told.size_bytes, text_of(told.format)};
  if (packing.size_bytes < 0 || packing.size_bytes > kLargestPacking || packing.format.empty()) {
    return internal_error("backend \"{}\" packs input {} of {} into {} bytes, format \"{}\"", name_,
                          input, op.describe(), packing.size_bytes, packing.format);
  }
  return std::optional<Packing>(std::move(packing));
}

Status Backend::pack(const Op& op, int input, std::span<std::byte> packed) const {
  return call_plugin(name_, api_->pack, handle_, &op.get(), input, packed.data())
      .with_context(op.describe());
}

}  // namespace sluice::backend

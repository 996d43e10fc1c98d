// A good plug-in with one thing wrong with it. The file's name says which: copied to
// libsluice_backend_wrong_major.so, it tells a wrong major version.
#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sluice/extensions/input_alignment.h"
#include "sluice/extensions/topology.h"
#include "sluice/extensions/variants.h"
#include "sluice/host_backend.hpp"

extern "C" SLUICE_PLUGIN_EXPORT const sluice_backend_api* sluice_backend_entry(uint16_t, uint16_t,
                                                                               sluice_message*);

namespace {

using sluice::plugin::Call;
using sluice::plugin::KernelEntry;
using sluice::plugin::Status;

std::string name_of_this_file() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&sluice_backend_entry), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const std::string prefix = "libsluice_backend_";
  const std::size_t begin = path.rfind(prefix) + prefix.size();
  return path.substr(begin, path.rfind(".so") - begin);
}

const std::string kCase = name_of_this_file();  // NOLINT(cert-err58-cpp)

const KernelEntry kKernels[] = {
    {.kind = "Relu",
     .run = [](const Call&) -> Status {
       if (kCase == "throws_in_run") throw std::runtime_error("thrown by a kernel");
       if (kCase == "throws_no_exception_in_run") throw 1;  // NOLINT
       return sluice::plugin::ok();
     }},
};

class Backend : public sluice::plugin::HostBackend {
 public:
  Backend() : HostBackend(kKernels) {}
};

struct BadPlugin : sluice::plugin::HostPlugin<Backend> {
  static constexpr const char* kName = "bad";
  static constexpr const char* kVersion = "1";
};

void (*destroy_backend)(sluice_backend*) = nullptr;  ///< as a good plug-in does it

/// Fills the caller's buffer to its end, without a terminating NUL.
void fill(sluice_message* message) { std::memset(message->text, 'x', message->capacity); }

void spoil_table(sluice_backend_api& api) {
  if (kCase == "wrong_major") api.abi_major = SLUICE_BACKEND_ABI_MAJOR + 1;
  if (kCase == "wrong_name") api.name = "another";
  if (kCase == "null_name") api.name = nullptr;
  if (kCase == "null_function") api.list_submit = nullptr;
  if (kCase == "small_table") api.struct_size = 16;
  if (kCase == "huge_table") api.struct_size = 0xffffffffU;
}

void spoil_creation(sluice_backend_api& api) {
  if (kCase == "throws_in_create") {
    api.create = [](const sluice_option*, int32_t, sluice_backend**, sluice_message*) -> int32_t {
      throw std::runtime_error("thrown by create");
    };
  }
  if (kCase == "creates_nothing") {
    api.create = [](const sluice_option*, int32_t, sluice_backend**, sluice_message*) -> int32_t {
      return SLUICE_OK;
    };
  }
  if (kCase == "unknown_code") {
    api.create = [](const sluice_option*, int32_t, sluice_backend**,
                    sluice_message* message) -> int32_t {
      fill(message);
      return 12345;
    };
  }
  if (kCase == "throws_in_destroy") {
    api.destroy = [](sluice_backend* backend) {
      destroy_backend(backend);
      throw std::runtime_error("thrown by destroy");
    };
  }
}

void spoil_devices(sluice_backend_api& api) {
  if (kCase == "no_device") api.device_count = [](sluice_backend*) -> int32_t { return 0; };
  if (kCase == "billion_devices") {
    api.device_count = [](sluice_backend*) -> int32_t { return 1000000000; };
  }
  if (kCase == "unterminated_device_name") {
    api.device_describe = [](sluice_backend*, int32_t, sluice_device_info* info,
                             sluice_message*) -> int32_t {
      std::memset(info->kind, 'k', sizeof(info->kind));
      std::memset(info->name, 'n', sizeof(info->name));
      info->num_cores = 1;
      return SLUICE_OK;
    };
  }
  if (kCase == "no_cores") {
    api.device_describe = [](sluice_backend*, int32_t, sluice_device_info*,
                             sluice_message*) -> int32_t { return SLUICE_OK; };
  }
  if (kCase == "misaligned_memory") {
    api.memory_allocate = [](sluice_backend*, int32_t, int64_t, void** address,
                             sluice_message*) -> int32_t {
      *address = reinterpret_cast<void*>(4);
      return SLUICE_OK;
    };
    api.memory_free = [](sluice_backend*, int32_t, void*) {};
  }
}

/// A topology with the one error of the current case.
const void* bad_topology(sluice_backend*, const char*) {
  static sluice_topology topology = {};
  topology.struct_size = kCase == "small_topology" ? 4 : sizeof(sluice_topology);
  topology.link_count = [](sluice_backend*) -> int32_t {
    return kCase == "billion_links" ? 1000000000 : 1;
  };
  topology.describe_link = [](sluice_backend*, int32_t, sluice_link* link,
                              sluice_message*) -> int32_t {
    link->device_b = 7;
    return SLUICE_OK;
  };
  return &topology;
}

/// Ways to compute an operation that are told wrongly, whichever the case is.
const void* bad_variants(sluice_backend*, const char* name) {
  if (std::strcmp(name, SLUICE_VARIANTS) != 0) return nullptr;
  static sluice_variants variants = {};
  variants.struct_size = kCase == "small_variants" ? 8 : sizeof(sluice_variants);
  variants.list = [](sluice_backend*, const sluice_op*, int32_t, sluice_variant_visitor visit,
                     void* user, sluice_message*) -> int32_t {
    if (kCase == "throws_in_variants") throw std::runtime_error("thrown by variants");
    const int count = kCase == "endless_variants" ? 100000 : 1;
    for (int i = 0; i < count; ++i) {
      visit(user, kCase == "null_variant" ? nullptr : kCase == "nameless_variant" ? "" : "way");
    }
    return SLUICE_OK;
  };
  if (kCase != "null_in_variants") variants.run_steadily = [](sluice_backend*, int32_t) {};
  return &variants;
}

/// Alignments of inputs that are no power of two up to 64, or stand in a table that is too short.
const void* bad_input_alignment(sluice_backend*, const char* name) {
  if (std::strcmp(name, SLUICE_INPUT_ALIGNMENT) != 0) return nullptr;
  static sluice_input_alignment table = {sizeof(sluice_input_alignment), 0};
  if (kCase == "odd_input_alignment") table.alignment_bytes = 24;
  if (kCase == "wide_input_alignment") table.alignment_bytes = 128;
  if (kCase == "small_input_alignment") table.struct_size = 4;
  return &table;
}

void spoil_extensions(sluice_backend_api& api) {
  if (kCase.find("input_alignment") != std::string::npos) api.find_extension = bad_input_alignment;
  if (kCase.find("variant") != std::string::npos) api.find_extension = bad_variants;
  if (kCase == "small_topology" || kCase == "link_to_nowhere" || kCase == "billion_links") {
    api.find_extension = bad_topology;
  }
  if (kCase == "throws_in_find_extension") {
    api.find_extension = [](sluice_backend*, const char*) -> const void* {
      throw std::runtime_error("thrown by find_extension");
    };
  }
  if (kCase == "abi_1_0") {  // the memory behind a 1.0 table belongs to other objects
    api.abi_minor = 0;
    api.struct_size = offsetof(sluice_backend_api, find_extension);
    std::memset(&api.find_extension, 0x5a, sizeof(api.find_extension));
  }
}

void spoil_operations(sluice_backend_api& api) {
  if (kCase == "throws_in_query") {
    api.op_query = [](sluice_backend*, const sluice_op*, sluice_op_support*,
                      sluice_message*) -> int32_t { throw std::runtime_error("thrown by query"); };
  }
  if (kCase == "unknown_layout") {
    api.op_query = [](sluice_backend*, const sluice_op*, sluice_op_support* support,
                      sluice_message*) -> int32_t {
      support->supported = 1;
      support->preferred_layout = 99;
      return SLUICE_OK;
    };
  }
  if (kCase == "negative_packing") {
    api.packing_query = [](sluice_backend*, const sluice_op*, int32_t, sluice_packing* packing,
                           sluice_message*) -> int32_t {
      packing->size_bytes = -64;
      return SLUICE_OK;
    };
  }
  if (kCase == "null_kernel") {
    api.kernel_create = [](sluice_backend*, int32_t, const sluice_op*, sluice_kernel**,
                           sluice_kernel_info*, sluice_message*) -> int32_t { return SLUICE_OK; };
  }
}

}  // namespace

const sluice_backend_api* sluice_backend_entry(uint16_t, uint16_t, sluice_message* message) {
  if (kCase == "throws_in_entry") throw std::runtime_error("thrown by the entry");
  if (kCase == "refuses") {
    sluice::plugin::write_message(message, "not today");
    return nullptr;
  }
  static sluice_backend_api api =
      *sluice::plugin::PluginTable<BadPlugin>::get(SLUICE_BACKEND_ABI_MAJOR, message);
  api.name = kCase.c_str();
  destroy_backend = api.destroy;
  if (kCase == "unaligned_table") {
    return reinterpret_cast<const sluice_backend_api*>(reinterpret_cast<const char*>(&api) + 1);
  }
  spoil_table(api);
  spoil_creation(api);
  spoil_devices(api);
  spoil_extensions(api);
  spoil_operations(api);
  return &api;
}

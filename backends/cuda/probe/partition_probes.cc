#include <algorithm>
#include <numeric>
#include <set>

#include "plugin/confine/masked_kernel.h"
#include "probe/probe.h"

namespace sluice::cuda {
namespace {

/// Block b notes where it ran, and counts how often it did.
constexpr const char* kWhere =
    R"(extern "C" __global__ void sluice_kernel(unsigned* where, unsigned* times) {
  unsigned core;
  asm("mov.u32 %0, %%smid;" : "=r"(core));
  if (threadIdx.x != 0) return;
  where[blockIdx.x] = core;
  atomicAdd(times + blockIdx.x, 1u);
}
)";

using Cores = std::vector<std::int32_t>;

struct Ran {
  std::vector<std::uint32_t> where;  ///< by block
  std::vector<std::uint32_t> times;
  std::uint32_t strayed = 0;
};

Ran run(Backend& backend, Group& group, unsigned num_blocks, unsigned num_launched) {
  Source source;
  source.text = kWhere;
  if (backend.driver().confine == Confine::kMasks && !mask_kernel(&source).is_ok()) return {};
  std::shared_ptr<const LoadedKernel> code;
  std::unique_ptr<Stream> stream;
  if (!backend.store().load(0, source.text, &code).is_ok()) return {};
  if (!backend.make_stream(group, &stream).is_ok()) return {};
  const DriverTable& cu = backend.driver().table;
  const std::size_t bytes = num_blocks * sizeof(std::uint32_t);
  CuDevicePointer where = 0;
  CuDevicePointer times = 0;
  cu.mem_alloc(&where, bytes);
  cu.mem_alloc(&times, bytes);
  cu.memset_d8_async(times, 0, bytes, stream->handle);
  void* parameters[] = {&where, &times, &num_blocks, &stream->mask};
  cu.launch_kernel(code->function(), num_launched, 1, 1, 32, 1, 1, 0, stream->handle, parameters,
                   nullptr);
  Ran ran = {std::vector<std::uint32_t>(num_blocks), std::vector<std::uint32_t>(num_blocks)};
  cu.memcpy_dtoh_async(ran.where.data(), where, bytes, stream->handle);
  cu.memcpy_dtoh_async(ran.times.data(), times, bytes, stream->handle);
  cu.stream_synchronize(stream->handle);
  if (!backend.count_strayed(*stream, &ran.strayed).is_ok()) ran.times.clear();
  backend.destroy_stream(*stream);
  cu.mem_free(where);
  cu.mem_free(times);
  return ran;
}

std::string text_of(const Cores& cores) {
  return std::to_string(cores.front()) + " to " + std::to_string(cores.back());
}

std::string once(const Ran& ran) {
  const bool each = !ran.times.empty() &&
                    std::ranges::all_of(ran.times, [](std::uint32_t times) { return times == 1; });
  return each ? "each block once" : "blocks lost or repeated";
}

Cores range(std::int32_t first, std::int32_t count) {
  Cores cores(static_cast<std::size_t>(count));
  std::iota(cores.begin(), cores.end(), first);
  return cores;
}

void probe_splits(Prober& prober, Backend& backend) {
  const DriverTable& cu = backend.driver().table;
  CuResource whole = {};
  cu.device_get_dev_resource(0, &whole, CuResourceType::kMultiprocessors);
  prober.say("multiprocessors", std::to_string(whole.multiprocessors.count));
  for (const unsigned flags : {0U, kSplitIgnoreCoscheduling}) {
    for (const unsigned asked : {1U, 8U, 11U, 20U, 60U, 64U, 66U, 100U, 132U}) {
      std::vector<CuResource> parts(256);
      auto count = static_cast<unsigned>(parts.size());
      CuResource rest = {};
      const CuResult result =
          cu.dev_sm_resource_split_by_count(parts.data(), &count, &whole, &rest, flags, asked);
      const std::string subject =
          "split by " + std::to_string(asked) + (flags != 0 ? ", unaligned" : "");
      if (result != CuResult::kSuccess) {
        prober.say(subject, result);
        continue;
      }
      const unsigned left =
          rest.type == CuResourceType::kMultiprocessors ? rest.multiprocessors.count : 0;
      prober.say(subject, std::to_string(count) + " of " +
                              std::to_string(count > 0 ? parts[0].multiprocessors.count : 0) +
                              ", rest " + std::to_string(left));
    }
  }
}

/// Groups of green contexts: how many multiprocessors each reaches, and that they share none.
void probe_contexts(Prober& prober, Backend& backend) {
  std::set<std::uint32_t> together;
  std::size_t sum = 0;
  for (const Cores& cores : {range(0, 8), range(8, 16), range(64, 32)}) {
    const std::string subject = "green context of cores " + text_of(cores);
    std::unique_ptr<Group> group;
    if (const Status status = backend.make_group(0, cores, &group); !status.is_ok()) {
      prober.say(subject, status.text);
      continue;
    }
    const Ran ran = run(backend, *group, 4096, 4096);
    const std::set<std::uint32_t> seen(ran.where.begin(), ran.where.end());
    prober.say(subject, std::to_string(seen.size()) + " multiprocessors, " + once(ran));
    together.insert(seen.begin(), seen.end());
    sum += seen.size();
  }
  prober.say("green contexts that share a multiprocessor",
             together.size() == sum ? "none" : "some");
}

void probe_masks(Prober& prober, Backend& backend) {
  for (const Cores& cores : {Cores{0}, Cores{7}, Cores{3, 11, 17}, range(100, 32)}) {
    std::unique_ptr<Group> group;
    const std::string subject =
        "mask of " + std::to_string(cores.size()) + " cores from " + std::to_string(cores.front());
    if (const Status status = backend.make_group(0, cores, &group); !status.is_ok()) {
      prober.say(subject, status.text);
      continue;
    }
    const Ran full = run(backend, *group, 500, 132 * 32);
    const bool stays = std::ranges::all_of(full.where, [&](std::uint32_t core) {
      return std::ranges::find(cores, static_cast<std::int32_t>(core)) != cores.end();
    });
    prober.say(subject, std::string(stays ? "blocks stay, " : "blocks stray, ") + once(full) +
                            ", " + std::to_string(full.strayed) + " strayed");
    // Where few blocks are launched, none may land on the mask: the published scheme loses all
    // work.
    prober.say(subject + ", five blocks launched", once(run(backend, *group, 500, 5)));
  }
}

}  // namespace

void probe_partitions(Prober& prober) {
  if (const auto backend = prober.start(Confine::kNothing)) probe_splits(prober, *backend);
  if (const auto backend = prober.start(Confine::kContexts)) probe_contexts(prober, *backend);
  if (const auto backend = prober.start(Confine::kMasks)) probe_masks(prober, *backend);
}

}  // namespace sluice::cuda

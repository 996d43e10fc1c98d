#include "backend/group.h"

#include "backend/command_list.h"

namespace sluice::backend {

Result<std::shared_ptr<const Group>> Group::create(std::shared_ptr<const Backend> backend,
                                                   int device,
                                                   std::span<const std::int32_t> cores) {
  sluice_group* made = nullptr;
  SLUICE_TRY(call_plugin(backend->name(), backend->api().group_create, backend->handle(), device,
                         cores.data(), static_cast<std::int32_t>(cores.size()), &made));
  if (made == nullptr) return internal_error("backend \"{}\" returned no group", backend->name());
  // Read before `backend` is moved into the handle.
  const auto destroy = backend->api().group_destroy;
  Handle<sluice_group, Backend> handle(std::move(backend), made, destroy);
  return std::shared_ptr<const Group>(new Group(device, std::move(handle)));
}

Result<Stream> Stream::create(std::shared_ptr<const Group> group) {
  const Backend& backend = group->backend();
  sluice_stream* made = nullptr;
  SLUICE_TRY(call_plugin(backend.name(), backend.api().stream_create, group->get(), &made));
  if (made == nullptr) return internal_error("backend \"{}\" returned no stream", backend.name());
  return Stream({std::move(group), made, backend.api().stream_destroy});
}

Status Stream::submit(const CommandList& list, std::span<void* const> bindings) {
  const Backend& backend = handle_.parent()->backend();
  return call_plugin(backend.name(), backend.api().list_submit, handle_.get(), list.get(),
                     bindings.data(), static_cast<std::int32_t>(bindings.size()));
}

Status Stream::wait(std::optional<std::chrono::nanoseconds> timeout) {
  const Backend& backend = handle_.parent()->backend();
  // -1 is the boundary's number for "no limit".
  return call_plugin(backend.name(), backend.api().stream_wait, handle_.get(),
                     timeout ? timeout->count() : -1);
}

}  // namespace sluice::backend

#include "library/volume_handle.h"

#include <utility>

#include "base/check.h"

namespace runnel::library {
namespace {

void put_away(std::shared_ptr<OpenVersion> open) {
  CHECK(open != nullptr, "nothing is put away");
  if (open->end()) return;
  // Its thread hangs in a file system that does not answer, and uses it until the process ends.
  (void)std::make_unique<std::shared_ptr<OpenVersion>>(std::move(open)).release();
}

}  // namespace

Result<std::unique_ptr<VolumeHandle>> VolumeHandle::open(Opening opening) {
  std::shared_ptr<OpenVersion> open = TRY(OpenVersion::open(opening));
  opening.reference = open->reference();
  auto handle = std::make_unique<VolumeHandle>(std::move(opening));
  Here& here = handle->here();
  const std::lock_guard lock(here.mutex);
  here.open = std::move(open);
  return handle;
}

VolumeHandle::VolumeHandle(Opening opening)
    : opening_(std::move(opening)), here_(std::make_unique<Here>().release()) {
  CHECK(!opening_.reference.store.empty(), "a volume without a store");
  CHECK(!opening_.reference.volume.empty(), "a volume without a name");
}

VolumeHandle::~VolumeHandle() {
  close();
  Here* const known = here_.load();
  if (known->pid == ::getpid()) const std::unique_ptr<Here> ours(known);
}

// What was the parent's stays as it is: its locks may be held by threads that are not here.
VolumeHandle::Here& VolumeHandle::here() {
  Here* known = here_.load();
  while (known->pid != ::getpid()) {
    auto ours = std::make_unique<Here>();
    if (here_.compare_exchange_strong(known, ours.get())) return *ours.release();
  }
  return *known;
}

// Nothing else than an end of the version gives these two.
bool VolumeHandle::says_ended(const Error& error) {
  return error.code == Errc::kGone || error.code == Errc::kCancelled;
}

Result<std::shared_ptr<OpenVersion>> VolumeHandle::open_here(const OpenVersion* ended) {
  Here& here = this->here();
  const std::lock_guard lock(here.mutex);
  if (closed_) {
    return Error(Errc::kGone, "the volume " + opening_.reference.volume + " was closed")
        .with_hint("open it again");
  }
  if (here.open != nullptr && here.open.get() == ended) put_away(std::move(here.open));
  if (here.open == nullptr) here.open = TRY(OpenVersion::open(opening_));
  CHECK(here.open != nullptr, "who asks has the volume open");
  return here.open;
}

void VolumeHandle::close() {
  closed_ = true;
  Here* const known = here_.load();
  if (known->pid != ::getpid()) return;  // It is the parent's.
  const std::lock_guard lock(known->mutex);
  if (known->open != nullptr) put_away(std::move(known->open));
}

}  // namespace runnel::library

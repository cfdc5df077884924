#include "cli/mount_look.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <memory>

#include "async/abandonable_call.h"
#include "async/event.h"
#include "async/event_loop.h"

namespace runnel::cli {

Result<MountLook> look_at_mount(const std::string& folder) {
  const std::unique_ptr<async::EventLoop> loop = TRY(async::EventLoop::create());
  async::Notifier ended(*loop);
  bool has_answered = false;
  const auto error = std::make_shared<int>(0);
  const auto ask = [folder, error] {
    struct statvfs totals;
    *error = ::statvfs(folder.c_str(), &totals) == 0 ? 0 : errno;
  };
  const auto call =
      TRY(async::AbandonableCall::start(*loop, "mount-look", ask, [&has_answered, &ended] {
        has_answered = true;
        ended.notify_all();
      }));
  (void)loop->block_on(ended.wait_for(kMountAnswersWithin));
  if (!has_answered) return MountLook::kSilent;
  return *error == ENOTCONN || *error == ECONNABORTED ? MountLook::kDead : MountLook::kServed;
}

}  // namespace runnel::cli

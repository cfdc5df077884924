#include "cli/mount_look.h"

#include <memory>

#include "agent/suspect_mounts.h"
#include "async/abandonable_call.h"
#include "async/event.h"
#include "async/event_loop.h"

namespace runnel::cli {

Result<MountLook> look_at_mount(const std::string& folder) {
  const std::unique_ptr<async::EventLoop> loop = TRY(async::EventLoop::create());
  async::Notifier ended(*loop);
  bool has_answered = false;
  const auto is_dead = std::make_shared<bool>(false);
  const auto ask = [folder, is_dead] { *is_dead = agent::is_dead_mount(folder); };
  const auto call =
      TRY(async::AbandonableCall::start(*loop, "mount-look", ask, [&has_answered, &ended] {
        has_answered = true;
        ended.notify_all();
      }));
  (void)loop->block_on(ended.wait_for(kMountAnswersWithin));
  if (!has_answered) return MountLook::kSilent;
  return *is_dead ? MountLook::kDead : MountLook::kServed;
}

}  // namespace runnel::cli

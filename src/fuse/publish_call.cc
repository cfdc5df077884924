#include "fuse/publish_call.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "async/unique_fd.h"

namespace runnel::fuse {

const unsigned long kPublishCall = _IOR('R', 1, PublishAnswer);

PublishAnswer answer_of(const Result<std::string>& published) {
  PublishAnswer answer;
  const bool is_conflict = !published.ok() && published.error().code == Errc::kConflict;
  answer.kind = published.ok() ? PublishAnswer::kPublished
                : is_conflict  ? PublishAnswer::kConflict
                               : PublishAnswer::kFailed;
  const std::string text = published.ok() ? *published : published.error().to_string();
  std::copy_n(text.begin(), std::min(text.size(), answer.text.size() - 1), answer.text.begin());
  return answer;
}

Result<std::string> publish_mount(const std::string& folder) {
  // tidy: allow(file) a folder, for a call of the mount that it is
  const async::UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return errno_error("open " + folder, errno);
  PublishAnswer answer;
  if (::ioctl(opened.get(), kPublishCall, &answer) != 0) {
    if (errno == ENOTTY || errno == ENOSYS || errno == EINVAL) {
      return Error(Errc::kUnsupported, "no volume is mounted there to be written to")
          .with_field("dir")
          .with_value(folder)
          .with_hint("runnel volume mount --mode rw NAME " + folder);
    }
    return errno_error("publish what was written in " + folder, errno);
  }
  answer.text.back() = '\0';
  std::string text = answer.text.data();
  if (answer.kind == PublishAnswer::kPublished) return text;
  return Error(answer.kind == PublishAnswer::kConflict ? Errc::kConflict : Errc::kIo,
               std::move(text));
}

}  // namespace runnel::fuse

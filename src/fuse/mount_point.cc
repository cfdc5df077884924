#include "fuse/mount_point.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "async/unique_fd.h"
#include "env/files.h"
#include "env/process.h"
#include "env/subprocess.h"

namespace runnel::fuse {
namespace {

constexpr const char* kType = "fuse.runnel";

// What the library had to say since it was asked to mount.
std::string& complaint() {
  static std::string text;
  return text;
}

[[gnu::format(printf, 2, 0)]] void hear(fuse_log_level /*level*/, const char* format,
                                        va_list values) {
  std::array<char, 512> line{};
  std::vsnprintf(line.data(), line.size(), format, values);
  complaint() += line.data();
}

Error no_mount(const std::string& folder) {
  std::string why = complaint();
  while (!why.empty() && why.back() == '\n') why.pop_back();
  if (::access("/dev/fuse", F_OK) != 0) {
    return Error(Errc::kUnsupported,
                 "this machine has no /dev/fuse, so that nothing can be mounted")
        .with_field("dir")
        .with_value(folder)
        .with_hint("modprobe fuse, or, in a container, give it the device /dev/fuse");
  }
  return Error(Errc::kDenied, "cannot mount: " + (why.empty() ? "no reason is known" : why))
      .with_field("dir")
      .with_value(folder)
      .with_hint("a user who is not root needs write access to /dev/fuse, and fusermount3");
}

// As mountinfo writes blanks: "\040".
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '\\' && at + 3 < text.size();
    if (!is_escape) {
      plain += text[at];
      continue;
    }
    int value = 0;
    for (int digit = 1; digit <= 3; ++digit) value = value * 8 + (text[at + digit] - '0');
    plain += static_cast<char>(value);
    at += 3;
  }
  return plain;
}

Result<void> unmount_by_helper(const std::string& folder, Unmount how) {
  env::Subprocess helper;
  helper.argv = {"fusermount3", "-u", "-q"};
  if (how == Unmount::kLazy) helper.argv.emplace_back("-z");
  helper.argv.push_back(folder);
  const Result<std::string> done = env::output_of(helper);
  if (done.ok()) return {};
  if (done.error().code != Errc::kIo) return done.error();
  return Error(Errc::kConflict, "the mount is in use").with_value(folder);
}

}  // namespace

MountPoint::MountPoint(fuse_session* session, std::string folder)
    : session_(session), folder_(std::move(folder)) {}

Result<std::unique_ptr<MountPoint>> MountPoint::create(const std::string& folder,
                                                       const std::string& source, Access access) {
  complaint().clear();
  fuse_set_log_func(hear);
  std::string options = access == Access::kWrite ? "rw," : "ro,";
  options += "nosuid,nodev,default_permissions,subtype=runnel,fsname=" + source;
  // Containers and other users see it, too.
  if (env::is_root()) options += ",allow_other";
  std::array<std::string, 3> words{"runnel", "-o", options};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), words[2].data()};
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(arguments.size()), arguments.data());
  const fuse_lowlevel_ops nothing{};
  fuse_session* const session = ::fuse_session_new(&args, &nothing, sizeof nothing, nullptr);
  ::fuse_opt_free_args(&args);
  if (session == nullptr) return no_mount(folder);
  if (::fuse_session_mount(session, folder.c_str()) != 0) {
    ::fuse_session_destroy(session);
    return no_mount(folder);
  }
  auto mounted = std::unique_ptr<MountPoint>(new MountPoint(session, folder));
  if (const std::optional<Mounted> seen = mount_in(folder)) mounted->id_ = seen->id;
  return mounted;
}

// What lies over it, or in its place, is not ours to take away. Of a connection that has ended the
// library takes no mount away.
MountPoint::~MountPoint() {
  if (is_gone() || (!stays_ && is_on_top())) ::fuse_session_unmount(session_);
  ::fuse_session_destroy(session_);
}

void MountPoint::leave_dead() {
  stays_ = true;
  if (!is_on_top()) return;
  // By force the connection ends, and the mount only where nobody uses it: we do.
  // tidy: allow(file) a place alone, whose files nobody may be there to open
  const async::UniqueFd used(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (used.valid()) ::umount2(folder_.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW);
}

bool MountPoint::is_on_top() const {
  const std::optional<Mounted> seen = mount_in(folder_);
  return seen && seen->id == id_;
}

bool MountPoint::is_gone() const {
  pollfd connection{descriptor(), POLLIN, 0};
  return ::poll(&connection, 1, 0) > 0 && (connection.revents & POLLERR) != 0;
}

int MountPoint::descriptor() const { return ::fuse_session_fd(session_); }

Result<std::string> MountPoint::first_message() const {
  std::string message(kFirstMessageMax, '\0');
  while (true) {
    const ssize_t size = ::read(descriptor(), message.data(), message.size());
    if (size > 0) {
      message.resize(static_cast<std::size_t>(size));
      return message;
    }
    if (size < 0 && errno == EINTR) continue;
    return errno_error("read the first request of the mount " + folder_, errno);
  }
}

Result<std::vector<Mounted>> mounts() {
  return mounts_in(TRY(env::read_file("/proc/self/mountinfo")));
}

std::optional<Mounted> mount_in(const std::string& folder) {
  const Result<std::vector<Mounted>> all = mounts();
  if (!all.ok()) return std::nullopt;
  const auto found = std::find_if(all->rbegin(), all->rend(),
                                  [&folder](const Mounted& each) { return each.folder == folder; });
  if (found == all->rend()) return std::nullopt;
  return *found;
}

std::vector<Mounted> mounts_in(std::string_view mountinfo) {
  std::vector<Mounted> all;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // "36 35 98:0 /root /folder options ... - type source options"
    std::istringstream words(line);
    std::string id;
    words >> id;
    std::string word;
    std::string folder;
    for (int number = 1; number < 5 && words >> word; ++number) folder = word;
    words >> word;
    const bool is_written = word == "rw" || word.starts_with("rw,");
    while (words >> word && word != "-") {
    }
    std::string type;
    std::string source;
    words >> type >> source;
    if (type == kType) all.push_back({id, unescaped(folder), unescaped(source), is_written});
  }
  return all;
}

Result<void> unmount_folder(const std::string& folder, Unmount how) {
  if (!env::is_root()) return unmount_by_helper(folder, how);
  const int flags = UMOUNT_NOFOLLOW | (how == Unmount::kLazy ? MNT_DETACH : 0);
  if (::umount2(folder.c_str(), flags) == 0) return {};
  if (errno == EBUSY) return Error(Errc::kConflict, "the mount is in use").with_value(folder);
  return errno_error("unmount " + folder, errno);
}

}  // namespace runnel::fuse

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "env/inode_reserve.h"
#include "env/room_reserve.h"
#include "object/object_store.h"

namespace runnel::object {

// Objects as files below a folder, a key being a path: the blocking half of LocalStore.
//
// Contract: what put() returned for is durable, in its folders too. A put writes a temporary in
//           `.runnel/` first; what replaces an object, or removes one, holds the lock of the
//           folder, which is waited for no longer than kLockWait (kIo). A folder that its group may
//           write, and that has the set-group-ID bit, is shared: the group may read and write what
//           is put into it, whatever the umask is. Else everything is its owner's alone.
// Threads:  any, many at once, also of other processes.
class ObjectFolder {
 public:
  static constexpr Duration kLockWait = Duration::seconds(4);
  static constexpr Duration kTemporaryKept = Duration::hours(24);
  static constexpr Bytes kReserve = Bytes::mebi(4);
  static constexpr int kReservedInodes = 16;

  // Makes the folder when it is missing, holds its reserve where the disk has room, and removes
  // temporaries that a killed process left a day ago or earlier.
  static Result<ObjectFolder> open(const std::string& path);

  Result<Object> get(const std::string& key, std::int64_t limit) const;
  Result<void> read(const std::string& key, const std::string& stamp, std::int64_t offset,
                    std::span<char> into) const;
  Result<std::string> put(const std::string& key, std::string_view bytes,
                          const Condition& condition) const;
  Result<void> remove(const std::string& key) const;
  Result<ListPage> list(const std::string& prefix, const std::string& after) const;

  // Room for who frees room: on a full disk, what says what is to go has to be written first. The
  // next open() holds it again.
  void give_up_reserve() const {
    (void)reserve().give_up();
    (void)inodes().give_up();
  }

  const std::string& name() const { return name_; }

 private:
  explicit ObjectFolder(std::string path) : path_(std::move(path)), name_("file://" + path_) {}

  // Whom the folder is shared with; none: nobody.
  Result<std::optional<gid_t>> group() const;
  std::string own() const;  // The folder of what is no object.
  void share_own() const;
  // Makes the store's own folder and holds its reserve.
  Result<void> prepare() const;
  env::RoomReserve reserve() const;
  env::InodeReserve inodes() const;
  void hold_reserve() const;

  std::string file_of(const std::string& key) const { return path_ + "/" + key; }
  Result<void> publish(const std::string& temporary, const std::string& key,
                       const Condition& condition) const;
  Result<void> replace(const std::string& temporary, const std::string& key,
                       const Condition& condition) const;
  Result<void> check_match(const std::string& key, const Condition& condition) const;

  std::string path_;
  std::string name_;
  bool was_there_ = false;  // When it was opened.
};

}  // namespace runnel::object

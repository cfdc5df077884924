#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stream.h"
#include "async/unique_fd.h"
#include "base/result.h"
#include "base/units.h"
#include "volume/head_register.h"
#include "volume/warm_up.h"

namespace runnel::volume_server {

// What is asked of the process that serves the volumes of a home: by whoever holds a mount, to
// serve it; that what is below a path is brought into the cache that its mounts have; or, by
// whoever reads without a mount, parts of packs, which pack_service.h then gives over the same
// connection.
struct MountRequest {
  std::string volume;
  std::string version;  // A whole id, or what names one, as "latest", with `warm_up`.
  std::string store;    // Its URL.
  std::string folder;   // Where it is mounted; empty with the next two.
  std::string cache;    // A folder on the local disk; empty: none.
  std::int64_t cache_bytes = 0;
  std::optional<std::string> warm_up;  // The path.
  bool reads_packs = false;            // Without `head`: the store is shown the keys.
  // The volume's head as it was just read; none: it is read.
  std::optional<volume::SeenHead> head;
  bool takes_over = false;      // A process before this one has died.
  std::string log;              // Of a mount that is written to: a folder for logs; empty: of none.
  std::int64_t connection = 0;  // With a log: the connection's number, by chance.
  bool is_unmounted = false;    // With a log: what is in it is to be published, and no more.
  std::string branch;           // With a log: the volume's branch that is written; empty: itself.
  std::int64_t term = 0;        // With a branch: as BranchWriting has them.
  bool from_base = false;
  bool hears_errors = false;             // Whoever holds it is told why readers got errors.
  std::vector<std::string> environment;  // "NAME=value": the variables of the store, as AWS_REGION.
  // What a server has to know: one of an earlier build passes over members that it does not know,
  // and refuses a request that would mean something else without them.
  static constexpr std::int64_t kFormat = 5;
  static constexpr std::int64_t kReadingFormat = 1;  // Of mounts without a log, and warm-ups.
  static constexpr std::int64_t kWritingFormat = 2;  // Without a branch.
  static constexpr std::int64_t kBranchFormat = 3;
  static constexpr std::int64_t kPacksFormat = 4;     // With `reads_packs`.
  static constexpr std::int64_t kFromBaseFormat = 5;  // With `from_base`.
  std::int64_t format = kReadingFormat;
  friend bool operator==(const MountRequest&, const MountRequest&) = default;
};

// The request together with the descriptors that serving a mount needs.
struct HandedMount {
  MountRequest request;
  async::UniqueFd connection;     // Of the mount, to the kernel.
  async::UniqueFd first_message;  // A file with what the kernel has sent over it.
};

// kUnavailable: what asks of a server is told when that ends.
Error server_gone();
// Sends both over a Unix socket, at once. Blocks for as long as the other end reads. Else
// server_gone(), or kInvalid for a request that is too long.
Result<void> send_mount(int socket, const HandedMount& mount);
// Sends one that needs no descriptors: to warm up, or of a mount that is no more.
Result<void> send_alone(int socket, const MountRequest& request);
// The other end of it. kInvalid for what is no request, kUnsupported for one of a later format,
// kUnavailable when the sender is gone, kFull when this process may open no more files, kTimeout
// when it takes longer than `patience`.
Async<HandedMount> receive_mount(async::EventLoop& loop, int socket, Duration patience,
                                 async::StopToken stop);

// What becomes of a request: lines that the server sends over the same socket.
struct MountNews {
  enum class Kind : std::uint8_t {
    kServing,
    kWarming,
    kUnread,   // A reader got an error, and others may, until the store answers.
    kDamaged,  // A reader got an error, and whoever reads the same will.
    kEnded,
    kFailed,
  };
  Kind kind = Kind::kServing;
  std::string why;      // kUnread, kDamaged, kFailed: a sentence.
  volume::WarmUp warm;  // kWarming: how far it is.
};
// Who is gone needs none, and who does not read at the moment gets none.
void send_news(int socket, const MountNews& news);
// The same for what has to arrive: waits for who does not read at the moment.
Async<void> deliver_news(async::EventLoop& loop, int socket, MountNews news, async::StopToken stop);
// None at the end of the connection: then the server has died. Blocks for the rest of a line.
std::optional<MountNews> receive_news(int socket);
// The same without blocking; server_gone() at the end.
Async<MountNews> next_news(async::Stream& stream);

}  // namespace runnel::volume_server

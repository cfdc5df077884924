#include "volume_server/mount_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "async/together.h"
#include "json/value.h"
#include "model/fields.h"
#include "volume/known_members.h"

namespace runnel::model {

template <>
struct Fields<volume::SeenHead> {
  static void visit(auto& visit, auto& head) {
    visit("etag", head.etag, Required());
    visit("text", head.text, Required());
  }
};

template <>
struct Fields<volume_server::MountRequest> {
  static void visit(auto& visit, auto& request) {
    visit("branch", request.branch);
    visit("cache", request.cache);
    visit("cache_bytes", request.cache_bytes);
    visit("connection", request.connection);
    visit("environment", request.environment);
    visit("folder", request.folder);
    visit("format", request.format, Number{.min = 1, .fallback = 1});
    visit("from_base", request.from_base);
    visit("head", request.head);
    visit("hears_errors", request.hears_errors);
    visit("is_unmounted", request.is_unmounted);
    visit("log", request.log);
    visit("reads_packs", request.reads_packs);
    visit("store", request.store, Required());
    visit("takes_over", request.takes_over);
    visit("term", request.term);
    visit("version", request.version, Required());
    visit("volume", request.volume, Required());
    visit("warm_up", request.warm_up);
  }
};

template <>
struct Fields<volume::WarmUp> {
  static void visit(auto& visit, auto& done) {
    visit("bytes", done.bytes);
    visit("fetched", done.fetched);
    visit("files", done.files);
    visit("version", done.version);
  }
};

}  // namespace runnel::model

namespace runnel::volume_server {
namespace {

constexpr std::uint32_t kRequestBytesMax = 1 << 20;
constexpr std::size_t kLineBytesMax = 64 << 10;
constexpr std::size_t kErrorBytesMax = 2 << 10;
constexpr std::size_t kDescriptors = 2;

using Length = std::array<char, sizeof(std::uint32_t)>;

// The two descriptors as a message's control data.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptors * sizeof(int))> bytes{};
};

void attach(msghdr& message, Control& control, const HandedMount& mount) {
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kDescriptors * sizeof(int));
  const std::array<int, kDescriptors> files{mount.connection.get(), mount.first_message.get()};
  std::memcpy(CMSG_DATA(header), files.data(), sizeof files);
}

// Takes what came with the first bytes, so that nothing stays open that is not wanted.
void take_descriptors(msghdr& message, HandedMount& mount) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::vector<int> files(count);
    std::memcpy(files.data(), CMSG_DATA(header), count * sizeof(int));
    for (const int file : files) {
      async::UniqueFd taken(file);
      (mount.connection.valid() ? mount.first_message : mount.connection) = std::move(taken);
    }
  }
}

Error descriptors_lost() {
  return Error(Errc::kFull,
               "the descriptors of a mount did not all arrive: the server of mounts has as many "
               "files open as it may, or more than two were sent")
      .with_field("ulimit -n")
      .with_hint("unmount what nobody needs, or end the server after raising the limit");
}

Error sender_gone() { return {Errc::kUnavailable, "who asked for a mount is gone"}; }

// Fills the buffer; the descriptors are with its first bytes.
Async<void> receive_whole(async::EventLoop& loop, int socket, char* bytes, std::size_t size,
                          HandedMount& mount, async::StopToken stop) {
  while (size > 0) {
    CO_TRY(co_await loop.readable(socket, stop));
    Control control;
    iovec piece{bytes, size};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) co_return sender_gone();
    take_descriptors(message, mount);
    if ((message.msg_flags & MSG_CTRUNC) != 0) co_return descriptors_lost();
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  co_return {};
}

Result<void> send_whole(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return server_gone();
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

constexpr std::string_view kServing = "serving";
constexpr std::string_view kWarming = "warming ";
constexpr std::string_view kUnread = "unread ";
constexpr std::string_view kDamaged = "damaged ";
constexpr std::string_view kEnded = "ended";
constexpr std::string_view kFailed = "failed ";

MountNews news_of(std::string_view line) {
  if (line == kServing) return {MountNews::Kind::kServing, ""};
  if (line == kEnded) return {MountNews::Kind::kEnded, ""};
  if (line.starts_with(kWarming)) {
    const auto done = model::parse_record<volume::WarmUp>(line.substr(kWarming.size()));
    if (done.ok()) return {MountNews::Kind::kWarming, "", *done};
  }
  using Kind = MountNews::Kind;
  for (const auto& [kind, word] : {std::pair(Kind::kUnread, kUnread), {Kind::kDamaged, kDamaged}}) {
    if (line.starts_with(word)) return {kind, std::string(line.substr(word.size()))};
  }
  if (line.starts_with(kFailed)) line.remove_prefix(kFailed.size());
  return {Kind::kFailed, std::string(line)};
}

// Short enough to be sent whole or not at all where it may be dropped.
std::string line_of(std::string_view word, std::string why, std::size_t bytes_max) {
  for (char& c : why) c = c == '\n' ? ' ' : c;
  return std::string(word) + why.substr(0, bytes_max) + "\n";
}

std::string line_of(const MountNews& news) {
  switch (news.kind) {
    case MountNews::Kind::kServing: return std::string(kServing) + "\n";
    case MountNews::Kind::kWarming: return std::string(kWarming) + model::record_text(news.warm);
    case MountNews::Kind::kEnded: return std::string(kEnded) + "\n";
    case MountNews::Kind::kUnread: return line_of(kUnread, news.why, kErrorBytesMax);
    case MountNews::Kind::kDamaged: return line_of(kDamaged, news.why, kErrorBytesMax);
    case MountNews::Kind::kFailed: break;
  }
  return line_of(kFailed, news.why, kLineBytesMax / 2);
}

// `mount`: whose descriptors go with the first bytes; null: none do.
Result<void> send_request(int socket, const MountRequest& request, const HandedMount* mount) {
  const std::string text = model::record_text(request);
  if (text.size() > kRequestBytesMax) {
    return Error(Errc::kInvalid, "the request for a mount has more than a megabyte");
  }
  auto length = std::bit_cast<Length>(static_cast<std::uint32_t>(text.size()));
  iovec piece{length.data(), length.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  Control control;
  if (mount != nullptr) attach(message, control, *mount);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(length.size())) {
    return server_gone();
  }
  return send_whole(socket, text);
}

Error no_request() { return {Errc::kInvalid, "what was sent is no request for a mount"}; }

// A mount has its folder and both descriptors, what is no mount none of them, and one that is no
// more has its log alone.
bool is_whole(const HandedMount& mount) {
  const MountRequest& request = mount.request;
  const bool has_all = mount.connection.valid() && mount.first_message.valid();
  const bool has_none = !mount.connection.valid() && !mount.first_message.valid();
  if (request.warm_up) return has_none && !request.cache.empty();
  if (request.reads_packs) return has_none && request.folder.empty() && !request.head;
  if (request.folder.empty()) return false;
  return request.is_unmounted ? has_none && !request.log.empty() : has_all;
}

Error later_format(std::int64_t format) {
  return Error(Errc::kUnsupported, "a later build asks for the mount (format " +
                                       std::to_string(format) + ") than the one that serves the " +
                                       "mounts which are there")
      .with_hint("unmount these, then mount anew: runnel volume umount");
}

Result<MountRequest> parse_request(std::string_view text) {
  json::Value document = TRY(json::parse(text));
  if (!document.is_object()) return no_request();
  volume::keep_known_members<MountRequest>(document);
  const json::Value* const format = document.find("format");
  const bool is_later =
      format != nullptr && format->is_int() && format->as_int() > MountRequest::kFormat;
  if (is_later) return later_format(format->as_int());
  return model::read_record<MountRequest>(document);
}

Async<HandedMount> receive_request(async::EventLoop& loop, int socket, async::StopToken stop) {
  HandedMount mount;
  Length length{};
  CO_TRY(co_await receive_whole(loop, socket, length.data(), length.size(), mount, stop));
  const auto size = std::bit_cast<std::uint32_t>(length);
  if (size > kRequestBytesMax) co_return no_request();
  std::string text(size, '\0');
  CO_TRY(co_await receive_whole(loop, socket, text.data(), text.size(), mount, stop));
  mount.request = CO_TRY(parse_request(text));
  if (!is_whole(mount)) co_return no_request();
  co_return mount;
}

}  // namespace

Error server_gone() {
  return Error(Errc::kUnavailable, "the server of mounts has ended meanwhile")
      .with_hint("run it again");
}

Result<void> send_mount(int socket, const HandedMount& mount) {
  return send_request(socket, mount.request, &mount);
}

Result<void> send_alone(int socket, const MountRequest& request) {
  return send_request(socket, request, nullptr);
}

Async<HandedMount> receive_mount(async::EventLoop& loop, int socket, Duration patience,
                                 async::StopToken stop) {
  return async::with_timeout<HandedMount>(
      loop, patience,
      [&loop, socket](async::StopToken token) {
        return receive_request(loop, socket, std::move(token));
      },
      std::move(stop));
}

void send_news(int socket, const MountNews& news) { (void)send_whole(socket, line_of(news)); }

Async<void> deliver_news(async::EventLoop& loop, int socket, MountNews news,
                         async::StopToken stop) {
  const std::string line = line_of(news);
  for (std::string_view rest = line; !rest.empty();) {
    CO_TRY(co_await loop.writable(socket, stop));
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) co_return {};  // It is gone.
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  co_return {};
}

std::optional<MountNews> receive_news(int socket) {
  std::string line;
  for (char c = 0; line.size() < kLineBytesMax;) {
    const ssize_t got = ::recv(socket, &c, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\n') return news_of(line);
    line += c;
  }
  return std::nullopt;
}

Async<MountNews> next_news(async::Stream& stream) {
  std::string line;
  while (line.size() < kLineBytesMax) {
    std::array<char, 1> next{};
    if (CO_TRY(co_await stream.read_some(next)) == 0) break;
    if (next[0] == '\n') co_return news_of(line);
    line += next[0];
  }
  co_return server_gone();
}

}  // namespace runnel::volume_server

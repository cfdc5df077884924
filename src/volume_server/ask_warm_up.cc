#include "volume_server/ask_warm_up.h"

#include <fcntl.h>

#include "async/socket.h"
#include "base/check.h"

namespace runnel::volume_server {

Result<std::optional<volume::WarmUp>> ask_warm_up(const std::string& socket,
                                                  const MountRequest& request,
                                                  const volume::WarmUpProgress& progress) {
  CHECK(request.warm_up.has_value(), "a warm-up of nothing");
  Result<async::UniqueFd> connected = async::connect_unix(socket);
  const bool is_nobody = !connected.ok() && connected.error().code == Errc::kUnavailable;
  if (is_nobody) return std::optional<volume::WarmUp>();
  const async::UniqueFd server = TRY(std::move(connected));
  if (::fcntl(server.get(), F_SETFL, 0) != 0) return errno_error("wait for a warm-up", errno);
  TRY(send_alone(server.get(), request));
  volume::WarmUp done;
  while (const std::optional<MountNews> news = receive_news(server.get())) {
    if (news->kind == MountNews::Kind::kEnded) return std::optional(done);
    if (news->kind == MountNews::Kind::kFailed) return Error(Errc::kIo, news->why);
    done = news->warm;
    progress(done);
  }
  return server_gone();
}

}  // namespace runnel::volume_server

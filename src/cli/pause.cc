#include "cli/pause.h"

#include <poll.h>

namespace runnel::cli {

void pause(Duration duration) { ::poll(nullptr, 0, static_cast<int>(duration.millis())); }

}  // namespace runnel::cli

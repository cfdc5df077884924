#include "home/pause.h"

#include <poll.h>

namespace runnel::home {

void pause(Duration duration) { ::poll(nullptr, 0, static_cast<int>(duration.millis())); }

}  // namespace runnel::home

#pragma once

#include "base/result.h"
#include "home/home.h"
#include "home/say.h"

namespace runnel::home {

// Serves a home as its daemon, until there is nothing more to do, and begins anew when its nodes
// change. kConflict when another daemon serves it; why another start failed is left in
// Home::failure() as a problem document. Blocks.
Result<void> serve(const Home& home, const Say& say);

}  // namespace runnel::home

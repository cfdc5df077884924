#pragma once

#include <string>

#include "env/process.h"
#include "home/home.h"

namespace runnel::home {

// Whether the home, or the folder that it is to be made in, is on a local disk: others of a home
// that machines share would take each other's servers for dead.
bool may_have_server(const Home& home);

// The process that serves a home's volumes, `runnel volume serve`, to be started by whoever finds
// none. It outlives who does, also a task; each request brings the variables of its own store.
// `executable`: the path of runnel.
env::DetachedProcess server_of_volumes(const Home& home, std::string executable);

}  // namespace runnel::home

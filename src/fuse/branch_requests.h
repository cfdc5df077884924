#pragma once

#include "fuse/branch_service.h"
#include "fuse/kernel_session.h"

namespace runnel::fuse {

// What answers the kernel's requests for a branch.
KernelHandlers handlers_of(BranchService& service);

}  // namespace runnel::fuse

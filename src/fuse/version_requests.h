#pragma once

#include "fuse/file_service.h"
#include "fuse/kernel_session.h"

namespace runnel::fuse {

// What answers the kernel's requests for a version.
KernelHandlers handlers_of(FileService& service);

}  // namespace runnel::fuse

#pragma once

#include <string>
#include <vector>

#include "home/home.h"
#include "object/store_url.h"
#include "volume/session.h"

namespace runnel::cli {

// The jobs of a home that have not ended and read a version of the volume, as holders of it: of the
// kind "job", with the job's id as source. Asks the daemon, which it starts where there have been
// jobs.
Result<std::vector<volume::SessionRecord>> reading_jobs(const home::Home& home,
                                                        const std::string& volume,
                                                        const object::StoreUrl& place);

}  // namespace runnel::cli

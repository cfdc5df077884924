#pragma once

#include <string>
#include <string_view>

namespace runnel::cli {

// How a program that was given as a job file is started: "python train.py", by the end of its name,
// or by itself where its text begins with "#!". Empty for what may be meant as a job file.
std::string program_start(const std::string& file, std::string_view text);

}  // namespace runnel::cli

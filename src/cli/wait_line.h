#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// "train: Resources: 4 of 8 cores are free; cancel ...": one wait of a job's explanation.
std::string wait_line(const json::Value& wait);

}  // namespace runnel::cli

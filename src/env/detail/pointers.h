#pragma once

#include <string>
#include <vector>

namespace runnel::env::detail {

// Words or variables as the kernel wants them, with none at the end. Borrowed.
inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace runnel::env::detail

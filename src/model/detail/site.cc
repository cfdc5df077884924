#include "model/detail/site.h"

#include "base/check.h"
#include "base/shown.h"
#include "model/names.h"

namespace runnel::model::detail {

Site Site::inside(Segment segment) const {
  CHECK(depth_ < kDepthMax, "a specification is deeper than its checks know");
  Site site = *this;
  site.segments_[site.depth_++] = segment;
  return site;
}

Site Site::at(std::string_view field) const { return inside({field, 0}); }

Site Site::at(std::size_t index) const { return inside({{}, index}); }

std::string Site::path() const {
  std::string path;
  for (std::size_t i = 0; i < depth_; ++i) {
    const Segment& segment = segments_[i];
    if (segment.name.data() == nullptr) {
      path += "[" + std::to_string(segment.index) + "]";
    } else {
      path.append(path.empty() ? "" : ".");
      path.append(segment.name.size() <= kNameMax ? segment.name : shown(segment.name));
    }
  }
  return path;
}

void Site::refuse(Error fault) const {
  if (!full()) faults_->push_back(std::move(fault.with_field(path())));
}

void Site::refuse(std::string message, const std::string& value, std::string hint) const {
  refuse(Error(Errc::kInvalid, std::move(message))
             .with_value(shown(value))
             .with_hint(std::move(hint)));
}

void Site::refuse(std::string message, std::int64_t value, std::string hint) const {
  refuse(std::move(message), std::to_string(value), std::move(hint));
}

bool Site::within(std::int64_t value, std::int64_t min, std::int64_t max) const {
  if (value >= min && value <= max) return true;
  refuse(std::to_string(value) + (value < min ? " is too small" : " is too large"), value,
         "write a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return false;
}

bool Site::within(Duration value, Duration min, Duration max) const {
  if (value >= min && value <= max) return true;
  refuse("'" + to_string(value) + "' is too " + (value < min ? "short" : "long"), to_string(value),
         "write a time from " + to_string(min) + " to " + to_string(max));
  return false;
}

bool Site::sized(std::size_t size, std::size_t max, std::string_view what) const {
  if (size <= max) return true;
  const std::string count = std::to_string(size);
  refuse(count + " " + std::string(what) + " are more than " + std::to_string(max), count,
         "use at most " + std::to_string(max));
  return false;
}

bool Site::text(const std::string& text, std::size_t bytes_max) const {
  if (!sized(text.size(), bytes_max, "bytes")) return false;
  if (text.find('\0') == std::string::npos) return true;
  refuse("this holds a NUL byte, which no program can be given", "", "delete it");
  return false;
}

bool Site::named(const std::string& name) const {
  if (!name.empty()) return text(name, kNameBytesMax);
  refuse("this must not be empty", "", "write a name");
  return false;
}

}  // namespace runnel::model::detail

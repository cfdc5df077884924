#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/agenda.h"
#include "object/object_store.h"

namespace runnel::volume_sim {

// The objects of a store that all processes of a simulation share. Every call has its effect at
// once. ETags are those of contents, as S3's are: an object that comes back has its old one.
//
// Threads: one.
class Bucket {
 public:
  struct Stored {
    object::Body bytes;
    std::string etag;
    Time changed;
  };
  // An object is about to change; a pointer is null for none.
  struct Change {
    const std::string& key;
    const Stored* before = nullptr;
    const Stored* after = nullptr;
    std::uint64_t process = 0;  // Whose request it is.
  };
  using Watch = std::function<void(const Change&)>;

  explicit Bucket(const Agenda& agenda) : agenda_(agenda) {}

  void watch(Watch watch) { watch_ = std::move(watch); }
  const Stored* find(const std::string& key) const;
  const std::map<std::string, Stored>& objects() const { return objects_; }
  Result<std::string> put(std::uint64_t process, const std::string& key, object::Body bytes,
                          const object::Condition& condition);
  void remove(std::uint64_t process, const std::string& key);

 private:
  const Agenda& agenda_;
  std::map<std::string, Stored> objects_;
  Watch watch_;
};

}  // namespace runnel::volume_sim

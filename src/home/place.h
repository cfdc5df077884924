#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "env/files.h"
#include "home/home.h"

namespace runnel::home {

// Where a home was when a daemon last opened it. A folder that was copied says so by this: what it
// has unfinished runs in the other one.
struct HomePlace {
  std::string path;
  env::FileId folder;
  std::string boot_id;  // Devices are numbered anew at each boot.

  friend bool operator==(const HomePlace&, const HomePlace&) = default;
};

enum class HomeOrigin : std::uint8_t { kOwn, kCopy };

// A home is a copy when its folder is another than the recorded one, and that one is still in its
// place (`at_recorded`: the folder that is there now). One that was moved, or was restored where
// the first is gone, is the home itself.
HomeOrigin origin_of(const HomePlace& recorded, const HomePlace& now,
                     std::optional<env::FileId> at_recorded);

std::string place_text(const HomePlace& place);
// Nothing for a text that is damaged: a home without a record is nobody's copy.
std::optional<HomePlace> parse_place(std::string_view text);

// Records where the home is, and that its jobs are its own. Refuses a copy, and the jobs of another
// home, with the remedy.
Result<void> take_place(const Home& home);

// Refuses the jobs of another home, as take_place() does. Changes nothing.
Result<void> refuse_jobs_of_another(const Home& home);

// What a daemon serves: the home's folder and its event log, whatever their paths lead to later.
struct Served {
  env::FileId folder;
  env::FileId log;
};
Result<Served> served_now(const Home& home);

// Why what is served is not what the home's paths lead to any more: it was moved away, removed, or
// another was put in its place. "": it is, or the disk cannot tell.
std::string why_not_there(const Home& home, const Served& served);

// Makes a copy a home of its own, under the home's lock: forgets what runs in the other one. Empty:
// it is no copy; else the path of the other.
Result<std::string> adopt_place(const Home& home);

}  // namespace runnel::home

#include "home/place.h"

#include "base/shell_word.h"
#include "env/machine.h"
#include "env/remove_tree.h"
#include "home/jobs_owner.h"
#include "model/fields.h"

namespace runnel::model {

template <>
struct Fields<home::HomePlace> {
  static void visit(auto& visit, auto& place) {
    visit("boot_id", place.boot_id);
    visit("device", place.folder.device);
    visit("inode", place.folder.inode);
    visit("path", place.path);
  }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

Result<HomePlace> place_now(const Home& home) {
  HomePlace place;
  place.path = home.root;
  place.folder = TRY(env::file_id(home.root));
  place.boot_id = TRY(env::boot_id());
  return place;
}

std::optional<HomePlace> recorded_place(const Home& home) {
  const Result<std::string> text = env::read_file(home.place());
  return text.ok() ? parse_place(*text) : std::nullopt;
}

// Where the home was copied from; empty for one that is no copy.
std::string original_of(const Home& home, const HomePlace& now) {
  const std::optional<HomePlace> recorded = recorded_place(home);
  if (!recorded) return "";
  const Result<env::FileId> there = env::file_id(recorded->path);
  // Where nobody can tell whether the first is still there, it may be.
  if (!there.ok() && there.error().code != Errc::kNotFound) {
    return recorded->path == home.root ? "" : recorded->path;
  }
  const auto at_recorded = there.ok() ? std::optional(*there) : std::nullopt;
  return origin_of(*recorded, now, at_recorded) == HomeOrigin::kCopy ? recorded->path : "";
}

bool is_another(const std::string& path, const env::FileId& file) {
  const Result<env::FileId> now = env::file_id(path);
  return now.ok() ? *now != file : now.error().code == Errc::kNotFound;
}

std::string path_before(const Home& home) {
  const std::optional<HomePlace> recorded = recorded_place(home);
  return recorded ? recorded->path : "";
}

Result<void> record(const Home& home, const HomePlace& now) {
  if (recorded_place(home) == now) return {};
  return env::write_file_atomically(home.place(), place_text(now), env::Access::kOwner);
}

}  // namespace

HomeOrigin origin_of(const HomePlace& recorded, const HomePlace& now,
                     std::optional<env::FileId> at_recorded) {
  const bool same_boot = recorded.boot_id == now.boot_id;
  const auto is_recorded = [&](const env::FileId& folder) {
    return folder.inode == recorded.folder.inode &&
           (!same_boot || folder.device == recorded.folder.device);
  };
  if (!at_recorded || *at_recorded == now.folder) return HomeOrigin::kOwn;
  // Whether our own folder looks like the recorded one says nothing: after a boot a snapshot that
  // is mounted beside the original has its inode.
  return is_recorded(*at_recorded) ? HomeOrigin::kCopy : HomeOrigin::kOwn;
}

std::string place_text(const HomePlace& place) { return model::record_text(place); }

std::optional<HomePlace> parse_place(std::string_view text) {
  Result<HomePlace> place = model::parse_record<HomePlace>(text);
  if (!place.ok() || place->path.empty()) return std::nullopt;
  return *std::move(place);
}

Result<void> take_place(const Home& home) {
  const HomePlace now = TRY(place_now(home));
  const std::string original = original_of(home, now);
  if (original.empty()) {
    TRY(take_jobs(home, path_before(home)));
    return record(home, now);
  }
  return Error(Errc::kUnsupported, "the home is a copy of " + original +
                                       ", which is still there: what that one has unfinished would "
                                       "run a second time")
      .with_field("RUNNEL_HOME")
      .with_value(home.root)
      .with_hint("use the other one: export RUNNEL_HOME=" + shell_word(original) +
                 "; or make this a home of its own: runnel --home " + shell_word(home.root) +
                 " home --adopt");
}

Result<void> refuse_jobs_of_another(const Home& home) {
  return refuse_jobs_of_another(home, path_before(home));
}

Result<Served> served_now(const Home& home) {
  return Served{TRY(env::file_id(home.root)), TRY(env::file_id(home.event_log()))};
}

std::string why_not_there(const Home& home, const Served& served) {
  if (is_another(home.root, served.folder)) return "the home was moved away from " + home.root;
  if (!is_another(home.event_log(), served.log)) return "";
  return "the event log " + home.event_log() + " was removed or replaced";
}

Result<std::string> adopt_place(const Home& home) {
  const HomePlace now = TRY(place_now(home));
  const std::string original = original_of(home, now);
  if (original.empty()) return original;
  TRY(adopt_jobs(home, Home{original}));
  // Its journal names processes of the other home, which a runner of this one would end.
  TRY(env::remove_tree(home.runner()));
  TRY(record(home, now));
  return original;
}

}  // namespace runnel::home

#include "cli/definition.h"

namespace runnel::cli {
namespace {

void add_store(CLI::App& app, Arguments& arguments) {
  optional_flag(app, "--store", arguments.store,
                "where the volume is, file:///FOLDER or s3://BUCKET/PREFIX; as it was created");
}

void add_volume(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME")->required();
  add_store(app, arguments);
}

void add_volume_path(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME[@VERSION][:/PATH]")->required();
  add_store(app, arguments);
}

void add_message(CLI::App& app, Arguments& arguments) {
  optional_flag(app, "-m,--message", arguments.message, "what the version is for");
}

void add_volume_rm(CLI::App& app, Arguments& arguments) {
  app.add_option("path", arguments.targets, "NAME:/PATH")->required();
  app.add_flag_callback("-r,--recursive,-R", [] {}, "for hands that know rm: folders go whole");
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_put(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "a folder, or a file")->required();
  app.add_option("target", arguments.target, "NAME[:/FOLDER]")->required();
  add_message(app, arguments);
  app.add_flag("--mirror", arguments.mirror, "remove from FOLDER what the source does not have");
  // For bench/volume.py: what the default was chosen by.
  app.add_option("--pack-size", arguments.pack_size, "bytes of a pack, 1MiB to 128MiB")->group("");
  add_store(app, arguments);
}

void add_volume_get(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME[@VERSION][:/PATH]")->required();
  app.add_option("target", arguments.target, "a folder, or a file")->required();
  add_store(app, arguments);
}

void add_volume_cp(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME[@VERSION]:/PATH, or a path of this machine")
      ->required();
  app.add_option("target", arguments.target, "NAME:/PATH, or a path of this machine")->required();
  app.add_flag_callback("-r,--recursive,-R", [] {}, "for hands that know cp: folders go whole");
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_mv(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME:/PATH")->required();
  app.add_option("target", arguments.target, "NAME:/PATH, or a folder it goes into")->required();
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_sync(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "a folder, or NAME[@VERSION]:/FOLDER")->required();
  app.add_option("target", arguments.target, "NAME:/FOLDER, or a folder")->required();
  app.add_flag("--dry-run", arguments.dry_run, "say what would be done, and change nothing");
  app.add_flag("--delete", arguments.remove,
               "remove and replace also in a folder of this machine that was never synced");
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_snapshot(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME")->required();
  app.add_option("tag", arguments.target, "a tag that no version has")->required();
  add_store(app, arguments);
}

void add_volume_clone(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME[@VERSION]")->required();
  app.add_option("target", arguments.target, "the name of the new volume")->required();
  add_store(app, arguments);
}

void add_volume_restore(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME@VERSION[:/PATH]")->required();
  app.add_option("target", arguments.target, "NAME:/PATH; the same path unless given");
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_dump(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME[@VERSION]")->required();
  app.add_option("target", arguments.target, "a file, or - for stdout")->required();
  add_store(app, arguments);
}

void add_volume_load(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "a file, or - for stdin")->required();
  app.add_option("target", arguments.target, "NAME, of a volume without versions, or a new one")
      ->required();
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_export(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source, "NAME[@VERSION][:/PATH]")->required();
  app.add_option("target", arguments.target,
                 "FILE.tar, - (a tar on stdout), file:///DIR or s3://BUCKET/PREFIX")
      ->required();
  add_store(app, arguments);
}

void add_volume_import(CLI::App& app, Arguments& arguments) {
  app.add_option("source", arguments.source,
                 "a tar, - for one on stdin, file:///DIR or s3://BUCKET/PREFIX")
      ->required();
  app.add_option("target", arguments.target, "NAME[:/FOLDER]")->required();
  app.add_flag("--link", arguments.link,
               "leave objects of a bucket where they are: files are read from there");
  app.add_flag("--mirror", arguments.mirror, "remove from FOLDER what the source does not have");
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_tag(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME[@VERSION]")->required();
  app.add_option("tag", arguments.target, "the tag")->required();
  CLI::Option* const remove =
      app.add_flag("--delete", arguments.remove, "remove the tag; its version stays for a while");
  app.add_flag("--force", arguments.force, "also when another version has the tag")
      ->excludes(remove);
  add_store(app, arguments);
}

void add_cache(CLI::App& app, Arguments& arguments) {
  optional_flag(app, "--cache", arguments.cache,
                "a folder on a local disk for what was fetched; it is there after a restart, too");
  app.add_option("--cache-size", arguments.cache_size, "what it may take (default: 10GiB)");
}

void add_volume_warmup(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME[@VERSION][:/PATH]")->required();
  add_cache(app, arguments);
  add_store(app, arguments);
}

void add_volume_mount(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME[@VERSION]")->required();
  app.add_option("dir", arguments.target, "an existing folder")->required();
  app.add_flag("-d,--detach", arguments.detach, "return once it is mounted");
  app.add_option("--mode", arguments.mount_mode,
                 "rw: also to be written to, which makes new versions")
      ->check(CLI::IsMember({"ro", "rw"}))
      ->capture_default_str();
  app.add_option("--branch", arguments.branch,
                 "write a branch of the volume, which others see once it is merged");
  add_cache(app, arguments);
  add_store(app, arguments);
  // Of a branch: by default the one after the last that has written it.
  CLI::Option* const term = app.add_option("--term", arguments.term)->group("");
  // What earlier terms have written is in it no more.
  app.add_flag("--from-base", arguments.from_base)->group("")->needs(term);
  // Of one that attempts share, its place: agent/used_mounts.h.
  app.add_option("--while-used", arguments.while_used)->group("");
  // The version is a whole id that is there.
  app.add_flag("--looked-up", arguments.looked_up)->group("");
}

void add_volume_branches(CLI::App& app, Arguments& arguments) {
  add_volume(app, arguments);
  app.add_option("--remove", arguments.targets,
                 "branches to be removed; what they have written and nobody has merged is gone");
}

void add_volume_merge(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME")->required();
  CLI::Option* const branches = app.add_option("branch", arguments.targets, "the branches");
  // Of a job: a file of their names, a line each, and the name of the merge, which is made once.
  CLI::Option* const from = app.add_option("--branches-from", arguments.branches_from)->group("");
  app.add_option("--once", arguments.merge_name)->group("")->needs(from);
  branches->excludes(from);
  add_message(app, arguments);
  add_store(app, arguments);
}

void add_volume_gc(CLI::App& app, Arguments& arguments) {
  app.add_option("volume", arguments.volume, "NAME")->required();
  optional_flag(app, "--keep", arguments.keep,
                "drop versions without a tag that were replaced longer ago, as 7d; without it none "
                "is dropped");
  app.add_flag("--dry-run", arguments.dry_run, "say what would be deleted, and change nothing");
  add_store(app, arguments);
}

}  // namespace

const std::vector<Definition>& volume_definitions() {
  static const std::vector<Definition> kAll = {
      {Command::kVolumeCreate, "create", {}, "make a volume in a store", add_volume},
      {Command::kVolumeList,
       "list",
       {},
       "the volumes that this home knows",
       [](CLI::App&, Arguments&) {}},
      {Command::kVolumeVersions,
       "versions",
       {},
       "the versions of a volume, the newest first",
       add_volume},
      {Command::kVolumeShow,
       "show",
       {"info"},
       "what a volume is, or what a version of it is",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("volume", arguments.volume, "NAME[@VERSION]")->required();
         add_store(app, arguments);
       }},
      {Command::kVolumePut, "put", {}, "publish a folder as the next version", add_volume_put},
      {Command::kVolumeGet, "get", {}, "copy a version out of a volume", add_volume_get},
      {Command::kVolumeLs,
       "ls",
       {},
       "what is in a folder of a version",
       [](CLI::App& app, Arguments& arguments) {
         add_volume_path(app, arguments);
         app.add_flag("-l,--long", arguments.tasks, "modes, sizes and times, too");
       }},
      {Command::kVolumeCat, "cat", {}, "print a file of a version", add_volume_path},
      {Command::kVolumeRm,
       "rm",
       {},
       "publish a version without some files or folders",
       add_volume_rm},
      {Command::kVolumeCp,
       "cp",
       {"copy"},
       "copy files: in, out, or inside a volume",
       add_volume_cp},
      {Command::kVolumeMv, "mv", {"rename"}, "give a file or folder another name", add_volume_mv},
      {Command::kVolumeSync,
       "sync",
       {},
       "make a folder as another one is, in a volume or of one",
       add_volume_sync},
      {Command::kVolumeSnapshot,
       "snapshot",
       {},
       "keep the newest version under a tag",
       add_volume_snapshot},
      {Command::kVolumeClone,
       "clone",
       {},
       "make a volume that begins with a version of another, and copies nothing",
       add_volume_clone},
      {Command::kVolumeRestore,
       "restore",
       {},
       "bring back what an earlier version had",
       add_volume_restore},
      {Command::kVolumeDump, "dump", {}, "write a version as one stream", add_volume_dump},
      {Command::kVolumeLoad, "load", {}, "make a volume of a dump", add_volume_load},
      {Command::kVolumeExport,
       "export",
       {},
       "write a version as plain files, objects or a tar",
       add_volume_export},
      {Command::kVolumeImport,
       "import",
       {},
       "publish what a tar or plain objects have",
       add_volume_import},
      {Command::kVolumeTag, "tag", {}, "give a version a name, which keeps it", add_volume_tag},
      {Command::kVolumeDelete,
       "delete",
       {},
       "delete a volume, with all of its versions, for good",
       [](CLI::App& app, Arguments& arguments) {
         add_volume(app, arguments);
         app.add_flag("-y,--yes", arguments.yes, "without it is told what would be deleted");
       }},
      {Command::kVolumeForget,
       "forget",
       {},
       "take a volume from this home's list; its store keeps it",
       add_volume},
      {Command::kVolumeGc, "gc", {}, "delete what no version needs", add_volume_gc},
      {Command::kVolumeStat, "stat", {}, "what a volume has, takes and costs", add_volume},
      {Command::kVolumeFsck,
       "fsck",
       {},
       "read all versions whole, and name what is damaged",
       [](CLI::App& app, Arguments& arguments) {
         add_volume(app, arguments);
         app.add_flag("--repair", arguments.repair, "let later puts store anew what is damaged");
       }},
      {Command::kVolumeBench,
       "bench",
       {},
       "how fast the files of a mount, or of any folder, are read",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("dir", arguments.target, "the folder")->required();
       }},
      {Command::kVolumeWarmup,
       "warmup",
       {},
       "bring what a version has into a cache on the disk",
       add_volume_warmup},
      {Command::kVolumeMount,
       "mount",
       {},
       "show a volume as a folder, to read or to write to",
       add_volume_mount},
      {Command::kVolumeUmount,
       "umount",
       {"unmount"},
       "take a mount away, or say who uses it",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("dir", arguments.targets, "the folders")->required();
         app.add_flag("--lazy", arguments.lazy,
                      "also while it is in use, which ends with its users");
       }},
      {Command::kVolumePublish,
       "publish",
       {},
       "make a version of what was written in a mount, now",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("dir", arguments.target, "the folder")->required();
       }},
      {Command::kVolumeBranches,
       "branches",
       {},
       "what is written to a volume and nobody's version yet",
       add_volume_branches},
      {Command::kVolumeMerge,
       "merge",
       {},
       "make one version of what branches have written",
       add_volume_merge},
      {Command::kVolumeServe, "serve", {}, "", [](CLI::App&, Arguments&) {}},
  };
  return kAll;
}

}  // namespace runnel::cli

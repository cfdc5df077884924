#pragma once

#include "cli/arguments.h"
#include "home/home.h"

namespace runnel::cli {

// What `runnel volume` dispatches to; each gives the exit status.
Result<int> list_volumes(const Arguments& arguments, const home::Home& home);
Result<int> copy_paths(const Arguments& arguments, const home::Home& home);
Result<int> move_paths(const Arguments& arguments, const home::Home& home);
Result<int> sync_folders(const Arguments& arguments, const home::Home& home);
Result<int> snapshot_volume(const Arguments& arguments, const home::Home& home);
Result<int> clone_volume(const Arguments& arguments, const home::Home& home);
Result<int> restore_volume(const Arguments& arguments, const home::Home& home);
Result<int> dump_volume(const Arguments& arguments, const home::Home& home);
Result<int> load_volume(const Arguments& arguments, const home::Home& home);
Result<int> export_volume(const Arguments& arguments, const home::Home& home);
Result<int> import_volume(const Arguments& arguments, const home::Home& home);
Result<int> show_volume(const Arguments& arguments, const home::Home& home);
Result<int> list_volume_folder(const Arguments& arguments, const home::Home& home);
Result<int> print_volume_file(const Arguments& arguments, const home::Home& home);
Result<int> tag_volume(const Arguments& arguments, const home::Home& home);
Result<int> delete_volume(const Arguments& arguments, const home::Home& home);
Result<int> forget_volume(const Arguments& arguments, const home::Home& home);
Result<int> collect_volume(const Arguments& arguments, const home::Home& home);
Result<int> tell_volume(const Arguments& arguments, const home::Home& home);
Result<int> bench_mount(const Arguments& arguments);
Result<int> warm_volume_up(const Arguments& arguments, const home::Home& home);
Result<int> mount_volume(const Arguments& arguments, const home::Home& home);
Result<int> unmount_volume(const Arguments& arguments, const home::Home& home);
Result<int> publish_volume(const Arguments& arguments);
Result<int> tell_branches(const Arguments& arguments, const home::Home& home);
Result<int> merge_volume(const Arguments& arguments, const home::Home& home);
// The process that serves all mounts of a home, which their holders hand over to it.
Result<int> serve_volumes(const home::Home& home);
Result<int> check_volume(const Arguments& arguments, const home::Home& home);

}  // namespace runnel::cli

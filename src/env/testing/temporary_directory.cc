#include "env/testing/temporary_directory.h"

#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::env::testing {

TemporaryDirectory::TemporaryDirectory() : path_(MUST(make_temporary_directory("runnel-test-"))) {}
TemporaryDirectory::~TemporaryDirectory() { (void)remove_tree(path_); }

}  // namespace runnel::env::testing

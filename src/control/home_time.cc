#include "control/home_time.h"

#include "env/files.h"
#include "env/machine.h"
#include "model/fields.h"

namespace runnel::control {

// The stored form.
struct KeptTime {
  std::string boot_id;
  Duration boot;  // When it was `time`.
  Time time;
};

}  // namespace runnel::control

namespace runnel::model {

template <>
struct Fields<control::KeptTime> {
  static void visit(auto& visit, auto& kept) {
    visit("boot", kept.boot);
    visit("boot_id", kept.boot_id);
    visit("time", kept.time);
  }
};

}  // namespace runnel::model

namespace runnel::control {
namespace {

Result<KeptTime> read_time(const std::string& path) {
  const std::string text = TRY(env::read_file(path));
  return model::parse_record<KeptTime>(text);
}

}  // namespace

// Not synced: after a crash of the machine it is of another boot.
void FileHomeTime::keep(Time now, const env::Clock& clock) {
  const Result<std::string> boot_id = env::boot_id();
  if (!boot_id.ok() || !env::remove_file(path_).ok()) return;
  (void)env::append_file(path_, model::record_text(KeptTime{*boot_id, clock.boot(), now}));
}

std::optional<Time> FileHomeTime::kept(const env::Clock& clock) const {
  const Result<std::string> boot_id = env::boot_id();
  const Result<KeptTime> kept = read_time(path_);
  if (!boot_id.ok() || !kept.ok() || kept->boot_id != *boot_id) return std::nullopt;
  if (kept->boot > clock.boot()) return std::nullopt;
  return kept->time + (clock.boot() - kept->boot);
}

}  // namespace runnel::control

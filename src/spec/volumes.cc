#include <utility>

#include "model/spec_words.h"
#include "spec/scalars.h"
#include "spec/step_draft.h"
#include "spec/word.h"

namespace runnel::spec {
namespace {

// Stands in for a volume that was refused, so that it is not told to be missing as well.
constexpr const char* kRefusedVolume = "refused";

model::VolumeUse read_volume_fields(Scope& scope, ObjectReader& object, std::string name) {
  model::VolumeUse use{std::move(name), kRefusedVolume, "latest", ""};
  if (const auto item = object.take("volume")) {
    use.volume = read_text(scope, *item).value_or(use.volume);
  } else {
    scope.refuse(object.item(), "`volume` is missing: nothing says which one it is", "",
                 "write volume: NAME, as `runnel volume list` shows it");
  }
  const auto version = object.take("version");
  if (version) use.version = read_text(scope, *version).value_or(use.version);
  if (const auto item = object.take("store")) use.store = read_text(scope, *item).value_or("");
  if (const auto item = object.take("linked")) {
    use.linked = read_boolean(scope, *item).value_or(false);
  }
  if (const auto item = object.take("mode")) {
    use.mode = read_word<model::VolumeMode>(scope, *item, model::kVolumeModeWords, "a mode")
                   .value_or(use.mode);
  }
  if (use.is_written() && version) {
    scope.refuse(*version, "a volume that is written goes on from its newest version",
                 shown(use.version), "leave out `version`");
  }
  if (use.is_written()) use.version.clear();
  object.done();
  return use;
}

// The volume alone, or a mapping.
void read_volume(Scope& scope, const YamlMember& member, const Item& at, StepDraft& draft) {
  const std::string& name = member.key->text;
  model::VolumeUse use{name, "", "latest", ""};
  if (at.node->is_map()) {
    std::optional<ObjectReader> object = ObjectReader::open(scope, at, volume_fields());
    if (!object) return;
    use = read_volume_fields(scope, *object, name);
  } else {
    const std::optional<std::string> text = read_text(scope, at);
    if (!text) return;
    const std::size_t split = text->find('@');
    use.volume = text->substr(0, split);
    if (split != std::string::npos) use.version = text->substr(split + 1);
  }
  draft.volumes[name] = std::move(use);
}

}  // namespace

void read_volumes(Scope& scope, const Item& item, StepDraft& draft) {
  if (!item.node->is_map()) {
    scope.refuse(item,
                 "`volumes` is a mapping of names to volumes, and this is " +
                     std::string(kind_name(*item.node)),
                 shown(*item.node), "write {data: VOLUME}");
    return;
  }
  for (const YamlMember& member : item.node->members) {
    read_volume(scope, member, {member.value.get(), item.path_of(shown(member.key->text))}, draft);
  }
}

}  // namespace runnel::spec

#include "brain/decide_again.h"

#include "json/value.h"
#include "model/codec.h"

namespace runnel::brain {

Result<std::string> decide_again(Brain& brain, std::string_view input, Time now) {
  const json::Value document = TRY(json::parse(input));
  const Decision decision = brain.decide(TRY(model::decode_input(document)), now);
  std::string text = "[";
  for (const model::Event& event : decision.events) {
    text += (text.size() > 1 ? "," : "") + model::encode_text(event);
  }
  return text + "]";
}

}  // namespace runnel::brain

#include <array>
#include <utility>

#include "det/base/json.h"
#include "det/cluster/events.h"

namespace det::cluster {
namespace {

using Any = Event::Any;
using Places = std::make_index_sequence<std::variant_size_v<Any>>;

template <std::size_t Place>
std::unique_ptr<Any> moved(void* event) {
  using Kind = std::variant_alternative_t<Place, Any>;
  return std::make_unique<Any>(std::in_place_index<Place>, std::move(*static_cast<Kind*>(event)));
}

template <std::size_t... Place>
constexpr auto makers_of(std::index_sequence<Place...>) {
  return std::array{&moved<Place>...};
}

}  // namespace

Event::Event() : any_(std::make_unique<Any>()) {}
Event::Event(const Event& other) : any_(std::make_unique<Any>(*other.any_)) {}
Event& Event::operator=(const Event& other) {
  return *this = Event(other);
}
Event::Event(Event&& other) noexcept = default;
Event& Event::operator=(Event&& other) noexcept = default;
Event::~Event() = default;

Event::Event(std::size_t place, void* event) {
  static constexpr auto kMakers = makers_of(Places());
  any_ = kMakers[place](event);
}

const void* Event::at(std::size_t place) const {
  if (any_->index() != place) return nullptr;
  return std::visit([](const auto& event) -> const void* { return &event; }, *any_);
}

json::value Event::to_json() const {
  return json::to_json(*any_);
}

std::optional<Error> Event::read_json(const json::value& value, const std::string& path) {
  return json::read(value, *any_, path);
}

}  // namespace det::cluster

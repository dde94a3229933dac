#pragma once

#include <boost/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

/// Forms that a member of a message of the public API can have; see http/wire/wire.h, which writes them.
namespace det {

/// A member that is null where there is no value. An unset std::optional is left out instead.
template <class T>
struct Nullable : std::optional<T> {
  using std::optional<T>::optional;
  Nullable(std::optional<T> x) : std::optional<T>(std::move(x)) {}
};

/// A JSON object that is kept and shown as its writer made it. The document of the API describes it as T.
template <class T>
struct Documented {
  boost::json::object value;
};

template <class T>
struct is_nullable : std::false_type {};
template <class T>
struct is_nullable<Nullable<T>> : std::true_type {};
template <class T>
struct is_documented : std::false_type {};
template <class T>
struct is_documented<Documented<T>> : std::true_type {};

}  // namespace det

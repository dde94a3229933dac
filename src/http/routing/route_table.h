#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::http {

enum class Verb { Get, Post, Put, Patch, Delete };

std::string_view verb_text(Verb verb);
/// The verb of a method; HEAD means GET. Nothing for methods that no route has.
std::optional<Verb> verb_of(std::string_view method);

/// The names in a template: {"trialId"} of "/api/v1/trials/{trialId}/metrics", in lowerCamelCase.
std::vector<std::string> path_parameters(std::string_view path);

/// Which route a method and a path mean. A tree of path segments: a literal
/// segment goes before a parameter, a parameter before a final "{rest...}".
class RouteTable {
 public:
  struct Match {
    std::size_t route = 0;
    std::map<std::string, std::string> parameters;  ///< Decoded; names in lowerCamelCase.
  };
  struct Lookup {
    std::optional<Match> match;
    std::vector<Verb> allowed;  ///< Without a match: what this path knows.
  };

  /// Requires: this verb and path were not added before.
  void insert(Verb verb, std::string_view path, std::size_t route);
  /// HEAD finds what GET finds. A final "/" does not matter.
  Lookup find(std::string_view method, std::string_view path) const;

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::map<Verb, std::pair<std::size_t, std::vector<std::string>>> routes;  // with parameter names
    std::map<Verb, std::pair<std::size_t, std::vector<std::string>>> rests;   // the same, for "{rest...}"
  };
  using Segments = std::vector<std::string>;

  const Node* descend(const Node& node, const Segments& segments, std::size_t at, std::optional<Verb> verb,
                      std::vector<std::string>& values, bool& rest) const;

  Node root_;
};

}  // namespace det::http

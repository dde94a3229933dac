#include "det/config/yaml/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "det/base/text.h"

namespace det::config {

namespace {

constexpr std::size_t kProblemsMax = 1000;

// Ends the parse from inside yaml-cpp; never leaves this file.
struct Stop {
  Problem problem;
};

/// A finished part of the document, and what another copy of it would cost.
struct Node {
  json::value value;
  Lines lines;
  std::size_t nodes = 1;
  std::size_t bytes = 0;
  int height = 0;
};

/// A map or list that is still open.
struct Frame {
  Node node;
  bool is_map = false;
  YAML::anchor_t anchor = 0;
  std::optional<std::string> key;
  int key_line = 0;
  bool key_is_merge = false;
  bool drop_value = false;  // of a duplicate key
  std::vector<Node> merged;
};

/// Builds JSON from the events of yaml-cpp. Its own node graph is avoided: it
/// hides duplicates, tags and the cost of aliases.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, const YamlLimits& limits) : text_(text), limits_(limits) {}

  std::optional<Node> root;
  std::vector<Problem> problems;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root) stop(mark.line + 1, "a second document begins here: only one is accepted");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) return take_key(null_as_written(mark), mark.line + 1, true, anchor);
    take(scalar(nullptr, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool plain = tag == "?";
    if (text.find('\0') != std::string::npos)
      stop(mark.line + 1, "text with the character U+0000 is not accepted");
    if (expects_key()) {
      check_tag(mark, tag, {"!!str"});
      return take_key(text, mark.line + 1, plain, anchor);
    }
    if (plain || tag == "!")
      return take(scalar(plain ? plain_value(mark, text) : json::value(text), mark), anchor);
    check_tag(mark, tag, {"!!str", "!!int", "!!float", "!!bool", "!!null"});
    take(scalar(tagged_value(mark, tag, text), mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) stop(mark.line + 1, "a key cannot be an alias: write the key itself");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark.line + 1, "an alias refers to a value that contains it");
    const auto& node = found->second;
    count(node.nodes, node.bytes, mark.line + 1);
    if (static_cast<int>(frames_.size()) + node.height > limits_.depth_max) refuse_depth(mark.line + 1);
    take(Node(node), 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag, {"!!seq"});
    open(mark, anchor, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag, {"!!map"});
    open(mark, anchor, true);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void stop(int line, std::string text) const { throw Stop{{path(), line, std::move(text)}}; }
  [[noreturn]] void refuse_depth(int line) const {
    throw Stop{{{}, line, fmt::format("the document is nested deeper than {} levels", limits_.depth_max)}};
  }
  void complain(int line, std::string text) {
    if (problems.size() < kProblemsMax) problems.push_back({path(), line, std::move(text)});
  }

  Path path() const {
    Path path;
    for (const auto& frame : frames_) {
      if (!frame.is_map)
        path.emplace_back(frame.node.value.get_array().size());
      else if (frame.key)
        path.emplace_back(*frame.key);
    }
    return path;
  }

  void count(std::size_t nodes, std::size_t bytes, int line) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > limits_.nodes_max)
      throw Stop{{{},
                  line,
                  fmt::format("the document has more than {} values, counting those repeated by aliases",
                              limits_.nodes_max)}};
    if (bytes_ > 4 * limits_.bytes_max)
      throw Stop{{{},
                  line,
                  fmt::format("the text repeated by aliases is larger than {}",
                              human_size(static_cast<std::int64_t>(4 * limits_.bytes_max)))}};
  }

  bool expects_key() const { return !frames_.empty() && frames_.back().is_map && !frames_.back().key; }

  Node scalar(json::value value, const YAML::Mark& mark) {
    Node node;
    if (value.is_string()) node.bytes = value.get_string().size();
    node.value = std::move(value);
    node.lines.line = mark.line + 1;
    count(1, node.bytes, mark.line + 1);
    return node;
  }

  json::value plain_value(const YAML::Mark& mark, const std::string& text) {
    auto scalar = read_plain_scalar(text);
    if (!scalar.refusal.empty()) complain(mark.line + 1, std::move(scalar.refusal));
    return std::move(scalar.value);
  }

  json::value tagged_value(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    if (tag.ends_with(":str")) return json::value(text);
    auto value = plain_value(mark, text);
    const bool number = value.is_number();
    if (tag.ends_with(":float") && number) return json::to_double(value).value();
    if ((tag.ends_with(":int") && number && !value.is_double()) ||
        (tag.ends_with(":bool") && value.is_bool()) || (tag.ends_with(":null") && value.is_null()))
      return value;
    complain(mark.line + 1, fmt::format("{} does not match its tag {}", shown(text), short_tag(tag)));
    return value;
  }

  static std::string short_tag(const std::string& tag) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    return tag.starts_with(kCore) ? "!!" + tag.substr(kCore.size()) : tag;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag,
                 std::initializer_list<std::string_view> allowed) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    const auto name = short_tag(tag);
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      stop(mark.line + 1, fmt::format("the tag {} is not accepted: write the value without it", shown(name)));
  }

  // yaml-cpp does not say how a null was written; as a key its text counts.
  std::string null_as_written(const YAML::Mark& mark) const {
    std::size_t at = 0;
    for (int line = 0; line < mark.line && at != std::string_view::npos; ++line) {
      at = text_.find('\n', at);
      if (at != std::string_view::npos) ++at;
    }
    if (at == std::string_view::npos) return "";
    for (int column = 0; column < mark.column && at < text_.size(); ++column) {
      ++at;
      while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80) ++at;
    }
    for (const std::string_view word : {"null", "Null", "NULL", "~"})
      if (text_.substr(std::min(at, text_.size())).starts_with(word)) return std::string(word);
    return "";
  }

  void take_key(std::string key, int line, bool plain, YAML::anchor_t anchor) {
    auto& frame = frames_.back();
    if (anchor != 0) stop(line, "a key cannot have an anchor");
    if (key.empty() && plain) stop(line, "a key is missing before \":\"");
    count(0, key.size(), line);
    frame.node.bytes += key.size();
    frame.key_is_merge = plain && key == "<<";
    frame.key_line = line;
    frame.key = std::move(key);
    frame.drop_value = false;
    if (frame.key_is_merge) return;
    const auto& object = frame.node.value.get_object();
    if (const auto* found = object.find(*frame.key); found != object.end()) {
      const auto first = frame.node.lines.children[static_cast<std::size_t>(found - object.begin())].line;
      complain(line, fmt::format("duplicate key \"{}\" (lines {} and {}): keep only one of them",
                                 shown(*frame.key), first, line));
      frame.drop_value = true;
    }
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map) {
    if (expects_key())
      stop(mark.line + 1, "a key is a list or a map, or a bracket is not closed: keys must be text");
    if (static_cast<int>(frames_.size()) >= limits_.depth_max) refuse_depth(mark.line + 1);
    count(1, 0, mark.line + 1);
    Frame frame;
    frame.is_map = is_map;
    frame.anchor = anchor;
    frame.node.lines.line = mark.line + 1;
    if (is_map)
      frame.node.value.emplace_object();
    else
      frame.node.value.emplace_array();
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    // Explicit keys win over merged ones, earlier merged maps over later ones.
    for (auto& node : frame.merged) {
      auto& object = node.value.get_object();
      std::size_t i = 0;
      for (auto& [key, value] : object) {
        auto& lines = node.lines.children[i++];
        if (frame.node.value.get_object().contains(key)) continue;
        frame.node.value.get_object().emplace(key, std::move(value));
        frame.node.lines.children.push_back(std::move(lines));
      }
    }
    ++frame.node.height;
    take(std::move(frame.node), frame.anchor);
  }

  void take(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      count(node.nodes, node.bytes, node.lines.line);  // the copy kept for its aliases
      anchors_.insert_or_assign(anchor, node);
    }
    if (frames_.empty()) {
      root = std::move(node);
      return;
    }
    auto& frame = frames_.back();
    frame.node.nodes += node.nodes;
    frame.node.bytes += node.bytes;
    frame.node.height = std::max(frame.node.height, node.height);
    if (!frame.is_map) {
      frame.node.value.get_array().push_back(std::move(node.value));
      frame.node.lines.children.push_back(std::move(node.lines));
      return;
    }
    if (frame.key_is_merge) {
      merge(frame, std::move(node));
    } else if (!frame.drop_value) {
      node.lines.line = frame.key_line;
      frame.node.value.get_object().emplace(*frame.key, std::move(node.value));
      frame.node.lines.children.push_back(std::move(node.lines));
    }
    frame.key.reset();
  }

  void merge(Frame& frame, Node node) {
    if (node.value.is_object()) {
      frame.merged.push_back(std::move(node));
      return;
    }
    auto* list = node.value.if_array();
    if (list == nullptr ||
        !std::all_of(list->begin(), list->end(), [](const auto& v) { return v.is_object(); }))
      stop(frame.key_line, "the merge key << needs a map or a list of maps");
    for (std::size_t i = 0; i < list->size(); ++i)
      frame.merged.push_back({std::move((*list)[i]), std::move(node.lines.children[i]), 0, 0, 0});
  }

  std::string_view text_;
  YamlLimits limits_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// What yaml-cpp must never see: it reads 0x04 as the end of the text, and guesses
// at UTF-16 when it meets a zero byte.
std::optional<Problem> check_bytes(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max)
    return Problem{
        {},
        0,
        fmt::format("the document has {} bytes; at most {} are accepted", text.size(), limits.bytes_max)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return Problem{{}, line_of(text, i), fmt::format("the control character 0x{:02x} is not accepted", c)};
  }
  if (is_utf8(text)) return std::nullopt;
  std::size_t good = 0;
  int line = 1;
  while (good < text.size()) {
    const auto end = std::min(text.find('\n', good), text.size());
    if (!is_utf8(text.substr(good, end - good))) break;
    good = end + 1;
    ++line;
  }
  return Problem{{}, line, "the text is not UTF-8"};
}

}  // namespace

tl::expected<Document, std::vector<Problem>> parse_yaml(std::string_view text, const YamlLimits& limits) {
  auto decoded = decode_yaml(text, limits);
  if (!decoded.problems.empty()) return tl::unexpected(std::move(decoded.problems));
  return *std::move(decoded.document);
}

Decoded decode_yaml(std::string_view text, const YamlLimits& limits) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto problem = check_bytes(text, limits)) return {std::nullopt, {*std::move(problem)}};

  Builder builder(text, limits);
  bool complete = false;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    complete = true;
  } catch (const Stop& stop) {
    builder.problems.push_back(stop.problem);
  } catch (const YAML::Exception& error) {
    builder.problems.push_back(
        {{},
         error.mark.line + 1,
         fmt::format("not valid YAML: {} (column {})", shown(error.msg), error.mark.column + 1)});
  } catch (const std::runtime_error& error) {
    builder.problems.push_back({{}, 0, fmt::format("not valid YAML: {}", shown(error.what()))});
  }
  Decoded decoded{std::nullopt, std::move(builder.problems)};
  if (complete)
    decoded.document =
        builder.root ? Document{std::move(builder.root->value), std::move(builder.root->lines)} : Document{};
  return decoded;
}

}  // namespace det::config

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/pytorch/value.h"

namespace det::pytorch::pickle {

/// Reads one pickle of PyTorch. It knows containers, numbers, texts and tensors; every other object is built
/// of nothing but its type's name, so a file can make it call nothing.
class Reader {
 public:
  /// `storage` gives the bytes of a storage by its key: as many elements of the type as asked for.
  using Storage =
      std::function<at::Tensor(const std::string& key, c10::ScalarType type, std::int64_t elements)>;
  Reader(std::string_view bytes, Storage storage) : bytes_(bytes), storage_(std::move(storage)) {}

  Value read();

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Node {
    enum class Kind { Value, List, Tuple, Dict, Global, Storage };
    Kind kind = Kind::Value;
    Value value;                                     // Value; Storage: its tensor
    std::vector<NodePtr> items;                      // List, Tuple
    std::vector<std::pair<NodePtr, NodePtr>> pairs;  // Dict
    bool ordered = false;
    std::string name;  // Global
  };

  [[noreturn]] void damaged(const char* why) const;
  std::string_view take(std::size_t count);
  template <typename T>
  T number();
  std::string line();
  NodePtr pop();
  NodePtr& top();
  std::vector<NodePtr> pop_to_mark();
  void push(Value value);
  void push_items(Node::Kind kind, std::vector<NodePtr> items);
  void push_tuple(std::size_t count);
  void push_global(std::string name);
  void push_long(std::size_t count);
  void set_items(const std::vector<NodePtr>& items);
  void add_items(const std::vector<NodePtr>& items);
  void reduce();
  NodePtr rebuild_tensor(const Node& arguments);
  NodePtr load_storage(const Node& id);
  bool step();
  Value finish(const Node& node, int depth) const;

  std::string_view bytes_;
  std::size_t at_ = 0;
  Storage storage_;
  std::vector<NodePtr> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, NodePtr> memo_;
};

}  // namespace det::pytorch::pickle

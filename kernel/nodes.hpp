// Nodes: the nodes of a lookahead's tree while it grows, with their atoms and arguments in shared arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lookahead.hpp"

namespace saltus {

struct Range {
    std::size_t begin = 0;
    std::size_t size = 0;
};

struct Node {
    std::int32_t parent = -1;
    std::int32_t depth = 0;
    std::int32_t length = 0;
    std::int32_t schema = -1;
    Range arguments;
    Range added, deleted;              // relative to the root
    Range fresh_added, fresh_deleted;  // relative to the parent
    Range gained, lost;                // places in the closure, relative to the root's; known once it is expanded
    bool is_closed = false;            // whether they are known
    std::int32_t goals = 0;
    bool novel = true;
    bool expand = true;
};

class Nodes {
public:
    std::size_t size() const { return nodes_.size(); }
    const Node& operator[](std::size_t i) const { return nodes_[i]; }
    // Notes how the closure of a node differs from the root's.
    void set_closure(std::size_t i, const Range& gained, const Range& lost) {
        nodes_[i].gained = gained;
        nodes_[i].lost = lost;
        nodes_[i].is_closed = true;
    }
    void push(const Node& node);

    // Number of nodes with more satisfied goals than the root, as long as the tree grows.
    std::int64_t better() const { return better_; }

    Range store(std::span<const Code> codes);
    Range store_arguments(std::span<const Object> objects);
    std::span<const Code> codes(const Range& range) const {
        return std::span<const Code>(codes_).subspan(range.begin, range.size);
    }
    std::size_t stored_codes() const { return codes_.size(); }

    // Of the novel nodes from `first` on, keeps the `capacity` ones with the most satisfied goals, earlier ones first.
    // The others are removed or, if `keep_as_leaves`, not expanded.
    void bound(std::size_t first, std::int64_t capacity, bool keep_as_leaves);
    void halve() { nodes_.resize(nodes_.size() / 2); }

    // Keeps only these nodes, ascending: the root, and with every node its parent. Allocates nothing.
    void keep(std::span<const std::size_t> kept);

    Tree to_tree() const;

private:
    std::vector<Node> nodes_;
    std::int64_t better_ = 0;
    std::vector<Code> codes_;
    std::vector<Object> arguments_;
};

}  // namespace saltus

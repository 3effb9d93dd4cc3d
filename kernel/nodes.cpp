#include "nodes.hpp"

#include <algorithm>
#include <unordered_set>

namespace saltus {

namespace {

// Appends to an array of rows of different lengths, and notes where the row ends.
template <typename Value>
void append_row(std::span<const Value> row, std::vector<Value>& values, std::vector<std::int64_t>& offset) {
    values.insert(values.end(), row.begin(), row.end());
    offset.push_back(static_cast<std::int64_t>(values.size()));
}

}  // namespace

void Nodes::push(const Node& node) {
    nodes_.push_back(node);
    if (node.goals > nodes_.front().goals) ++better_;
}

Range Nodes::store(std::span<const Code> codes) {
    const Range range{codes_.size(), codes.size()};
    codes_.insert(codes_.end(), codes.begin(), codes.end());
    return range;
}

Range Nodes::store_arguments(std::span<const Object> objects) {
    const Range range{arguments_.size(), objects.size()};
    arguments_.insert(arguments_.end(), objects.begin(), objects.end());
    return range;
}

void Nodes::bound(std::size_t first, std::int64_t capacity, bool keep_as_leaves) {
    std::vector<std::size_t> novel;
    for (std::size_t i = first; i < nodes_.size(); ++i)
        if (nodes_[i].novel) novel.push_back(i);
    if (static_cast<std::int64_t>(novel.size()) <= capacity) return;
    std::stable_sort(novel.begin(), novel.end(),
                     [&](std::size_t a, std::size_t b) { return nodes_[a].goals > nodes_[b].goals; });
    const std::unordered_set<std::size_t> dropped(novel.begin() + static_cast<std::ptrdiff_t>(capacity), novel.end());
    std::size_t to = first;
    for (std::size_t i = first; i < nodes_.size(); ++i) {
        if (dropped.contains(i)) {
            if (!keep_as_leaves) {
                if (nodes_[i].goals > nodes_.front().goals) --better_;
                continue;
            }
            nodes_[i].expand = false;
        }
        nodes_[to++] = nodes_[i];
    }
    nodes_.resize(to);
}

void Nodes::keep(std::span<const std::size_t> kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
        nodes_[i] = nodes_[kept[i]];
        std::int32_t& parent = nodes_[i].parent;
        if (parent < 0) continue;
        const auto found = std::lower_bound(kept.begin(), kept.end(), static_cast<std::size_t>(parent));
        parent = static_cast<std::int32_t>(found - kept.begin());
    }
    nodes_.resize(kept.size());
}

Tree Nodes::to_tree() const {
    Tree tree;
    std::size_t added_total = 0;
    std::size_t deleted_total = 0;
    for (const Node& node : nodes_) {
        added_total += node.added.size;
        deleted_total += node.deleted.size;
    }
    tree.added.reserve(added_total);
    tree.deleted.reserve(deleted_total);
    tree.argument_offset.push_back(0);
    tree.added_offset.push_back(0);
    tree.deleted_offset.push_back(0);
    for (const Node& node : nodes_) {
        tree.parent.push_back(node.parent);
        tree.depth.push_back(node.depth);
        tree.length.push_back(node.length);
        tree.schema.push_back(node.schema);
        tree.novel.push_back(node.novel ? 1 : 0);
        tree.goals.push_back(node.goals);
        append_row(std::span<const Object>(arguments_).subspan(node.arguments.begin, node.arguments.size),
                   tree.argument, tree.argument_offset);
        append_row(codes(node.added), tree.added, tree.added_offset);
        append_row(codes(node.deleted), tree.deleted, tree.deleted_offset);
    }
    return tree;
}

}  // namespace saltus

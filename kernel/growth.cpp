#include "growth.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace saltus {

namespace {

constexpr std::int64_t kScratch = 1 << 26;  // bytes that a search may always use besides the tree

// A thread allocates what it needs to throw when it first throws; without memory, that would end the process. So every
// thread throws once beforehand.
void prepare_exceptions() {
    static thread_local bool prepared = false;
    if (prepared) return;
    prepared = true;
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
}

// 0 for goal states, 1 for more satisfied goals than the root, 2 for all others.
int rank(const Nodes& nodes, std::size_t i, std::size_t goals) {
    if (static_cast<std::size_t>(nodes[i].goals) == goals) return 0;
    return nodes[i].goals > nodes[0].goals ? 1 : 2;
}

// Nodes that are kept for the network if they may not be all, ascending: the root and at most `most` others, with every
// node its ancestors. Generating nodes is cheap, encoding them is not. Goal states come first, then nodes with more
// satisfied goals than the root, then all others; within each, in the order they were found. A node whose ancestors do
// not fit is left out. `goals` is the number of the goal's literals. Twin: src/saltus/lookahead/budget_reference.py.
std::vector<std::size_t> choose_encoded(const Nodes& nodes, std::size_t goals, std::int64_t most) {
    std::vector<bool> is_kept(nodes.size(), false);
    is_kept[0] = true;
    std::int64_t room = most;
    auto parent = [&](std::size_t i) { return static_cast<std::size_t>(nodes[i].parent); };
    for (int wanted = 0; wanted < 3; ++wanted) {
        for (std::size_t i = 1; i < nodes.size() && room > 0; ++i) {
            if (rank(nodes, i, goals) != wanted) continue;
            std::int64_t missing = 0;
            for (std::size_t at = i; !is_kept[at] && missing <= room; at = parent(at)) ++missing;
            if (missing > room) continue;
            for (std::size_t at = i; !is_kept[at]; at = parent(at)) is_kept[at] = true;
            room -= missing;
        }
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (is_kept[i]) kept.push_back(i);
    return kept;
}

}  // namespace

Growth::Growth(Scene& scene, const Spec& spec)
    : changes(scene.task, scene.view),
      scene_(scene),
      spec_(spec),
      budget_(std::max(kScratch, saturating_product(spec.max_atoms, sizeof(Code)))) {
    if (!scene.task.axioms.empty()) derivation_.emplace(scene.task, scene.situation.state);
    Node root;
    for (Code code : scene.situation.goal_positive) root.goals += scene.in_root(code) ? 1 : 0;
    for (Code code : scene.situation.goal_negative) root.goals += scene.in_root(code) ? 0 : 1;
    nodes.push(root);
}

Tree Growth::run(const std::function<void()>& search, const std::function<void()>& release) {
    prepare_exceptions();
    try {
        search();
    } catch (const std::bad_alloc&) {
        truncated = true;
        release();
        bound_level();
    }
    for (;;) {
        try {
            apply_budget();
            return take_tree();
        } catch (const std::bad_alloc&) {
            if (nodes.size() == 1) throw;
            truncated = true;
            release();
            nodes.halve();
        }
    }
}

void Growth::compute_changes(std::size_t parent, std::size_t s, const std::vector<Object>& binding) {
    changes.compute(scene_.task.schemas[s], binding);
    if (derivation_) derivation_->extend(nodes.codes(nodes[parent].added), nodes.codes(nodes[parent].deleted), changes);
}

void Growth::compute_difference(std::size_t parent) {
    difference.compute(nodes.codes(nodes[parent].added), nodes.codes(nodes[parent].deleted), changes,
                       [&](Code code) { return scene_.in_root(code); });
}

bool Growth::append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, std::int32_t steps,
                    bool novel, bool expand) {
    const auto most = std::min<std::int64_t>(spec_.max_nodes, std::numeric_limits<std::int32_t>::max());
    if (static_cast<std::int64_t>(nodes.size()) >= most ||
        static_cast<std::int64_t>(nodes.stored_codes()) >= spec_.max_atoms) {
        truncated = true;
        return false;
    }
    Node node;
    node.parent = static_cast<std::int32_t>(parent);
    node.depth = nodes[parent].depth + 1;
    node.length = nodes[parent].length + steps + 1;
    node.schema = static_cast<std::int32_t>(s);
    node.arguments = nodes.store_arguments(binding);
    node.added = nodes.store(difference.added);
    node.deleted = nodes.store(difference.deleted);
    node.goals = nodes[0].goals;
    for (Code code : difference.added) node.goals += scene_.goal_sign(code);
    for (Code code : difference.deleted) node.goals -= scene_.goal_sign(code);
    node.novel = novel;
    node.expand = expand;
    if (spec_.kind != Kind::flat) {
        scratch_.clear();
        auto is_other = [&](Code code) { return !scene_.places || !scene_.places->is_place(code); };
        for (Code code : changes.adds)
            if (is_other(code) && !scene_.view.holds(code)) scratch_.push_back(code);
        node.fresh_added = nodes.store(scratch_);
        scratch_.clear();
        for (Code code : changes.deletes)
            if (is_other(code) && scene_.view.holds(code)) scratch_.push_back(code);
        node.fresh_deleted = nodes.store(scratch_);
    }
    nodes.push(node);
    return true;
}

// Departure: successors of the root beyond the capacity stay as leaves, unless the specification drops them or wants
// novel ones only.
void Growth::bound_level() {
    if (spec_.capacity <= 0 || spec_.kind == Kind::flat || level_ == nodes.size()) return;
    const bool keeps_root_successors = spec_.keep_root_successors && mode != RootMode::novel;
    nodes.bound(level_, spec_.capacity, nodes[level_].depth == 1 && keeps_root_successors);
}

bool Growth::fits(std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > budget_) truncated = true;
    return !truncated;
}

// Leaves out what is too much for the network.
void Growth::apply_budget() {
    if (spec_.max_encoded == 0 || static_cast<std::int64_t>(nodes.size()) <= spec_.max_encoded) return;
    const std::size_t goals = scene_.situation.goal_positive.size() + scene_.situation.goal_negative.size();
    const std::vector<std::size_t> kept = choose_encoded(nodes, goals, spec_.max_encoded);
    left_out_ += static_cast<std::int64_t>(nodes.size() - kept.size());
    nodes.keep(kept);
}

Tree Growth::take_tree() const {
    Tree tree = nodes.to_tree();
    tree.generated = generated;
    tree.root_actions = root_actions;
    tree.root = mode;
    tree.truncated = truncated;
    tree.stopped = stopped_;
    tree.left_out = left_out_;
    return tree;
}

}  // namespace saltus

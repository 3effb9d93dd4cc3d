// Search: what both searches for a lookahead's tree share: their parts, and the root's successors.
//
// The flat search ends with these; the width search goes on (width_search.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "colours.hpp"
#include "growth.hpp"
#include "interrupt.hpp"
#include "lookahead.hpp"
#include "scene.hpp"
#include "walking.hpp"

namespace saltus {

class Search {
public:
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    virtual ~Search() = default;

    Tree run();

protected:
    // The situation and the specification must outlive the search.
    Search(const Situation& situation, const Spec& spec);

    virtual void search() = 0;
    // Frees what only the search needs.
    virtual void release() { root_successors_ = {}; }
    // Whether the root's successor at hand is novel; marks what is.
    virtual bool mark_root_successor() { return true; }

    // Successors of the root may be taken by classes of exchangeable actions; they stay in the tree even if they are
    // not novel, unless only novel ones are wanted.
    void expand_root();

    const Pattern& pattern_of(std::size_t s) const {
        return walking_ ? walking_->pattern(s) : task_.schemas[s].pattern;
    }
    bool skips(std::size_t s) const { return walking_ && walking_->skips(s); }
    bool settle(std::size_t s, const std::vector<Object>& binding) { return !walking_ || walking_->settle(s, binding); }
    bool append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, bool novel, bool expand) {
        return growth_.append(parent, s, binding, walking_ ? walking_->steps() : 0, novel, expand);
    }
    // Counts an action as work.
    void tick() { ticker_.tick(spec_.width == 2 ? kPairSteps : 1); }

    const Task& task_;
    const Spec& spec_;
    Scene scene_;
    Growth growth_;
    std::optional<Walking> walking_;  // modulo free moves

private:
    static constexpr std::uint32_t kPairSteps = 1024;  // steps of a join that take as long as marking a state's pairs

    // Functions that return bool say whether to go on.
    void expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count);
    template <typename Visit>
    void visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit);
    bool add_root_successor(std::size_t s, const std::vector<Object>& binding);
    bool add_changed_root(std::size_t s, const std::vector<Object>& binding);
    bool is_known_successor(std::uint64_t hash);

    std::unordered_multimap<std::uint64_t, std::size_t> root_successors_;  // nodes by the hash of their difference
    Walking::Class own_class_;                                             // of the successor at hand
    Ticker ticker_;
};

class FlatSearch final : public Search {
public:
    FlatSearch(const Situation& situation, const Spec& spec) : Search(situation, spec) {}

private:
    void search() override { expand_root(); }
};

}  // namespace saltus

// Width search: breadth first, level by level; below the root only novel states are kept (IW, AIW, BAIW).
//
// Actions are joined from what a node changed: all others were applicable in its parent. Those that promise no new
// feature are never built.
#pragma once

#include <cstdint>
#include <vector>

#include "search.hpp"
#include "seen.hpp"

namespace saltus {

class WidthSearch final : public Search {
public:
    WidthSearch(const Situation& situation, const Spec& spec)
        : Search(situation, spec), seen_(scene_, spec, walking_ ? &*walking_ : nullptr) {}

private:
    // An atom in which a node differs from its parent.
    struct FreshAtom {
        std::int32_t predicate;
        bool added;
        std::size_t begin;  // into fresh_arguments_
    };

    void search() override;
    void release() override;
    bool mark_root_successor() override { return mark(0); }
    void mark_root();
    void mark_root_actions();

    void expand(std::size_t number);
    void expand_walks(std::size_t number);
    void expand_fully(std::size_t number, std::size_t s);
    void expand_gathered(std::size_t number, std::size_t s);
    void expand_move(std::size_t number, std::size_t s);
    void expand_anchored(std::size_t number, std::size_t s);
    void expand_projected(std::size_t number, std::size_t s);
    void decode_fresh(const Node& node);
    template <typename Gate, typename Emit>
    void join_fresh(std::size_t s, const MatchOptions& options, Gate&& gate, Emit&& emit);
    void begin_gathering();
    bool gather(const std::vector<Object>& found, bool promises);
    void try_bindings(std::size_t number, std::size_t s);
    bool try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding);
    bool mark(std::size_t parent) { return spec_.width == 2 ? mark_pairs(parent) : seen_.mark(growth_.changes.adds); }
    bool mark_pairs(std::size_t parent);

    Seen seen_;
    std::vector<FreshAtom> fresh_;
    std::vector<Object> fresh_arguments_;
    std::vector<Object> gathered_;  // bindings, one after the other
    bool found_any_ = false;        // the one binding of a schema without parameters, too
};

}  // namespace saltus

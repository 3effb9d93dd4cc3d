#include "axioms.hpp"

#include <algorithm>

namespace saltus {

std::vector<Code> derive(const Task& task, std::span<const Code> state) {
    std::vector<Object> arguments(static_cast<std::size_t>(task.max_arity) + 1);
    std::vector<Code> atoms;
    for (Code code : state)
        if (!task.derived[static_cast<std::size_t>(task.decode(code, arguments.data()))]) atoms.push_back(code);
    Derivation derivation(task, atoms);
    for (const Stratum& stratum : task.strata) derivation.compute(stratum, Derivation::kChanges);
    atoms.insert(atoms.end(), derivation.derived_.begin(), derivation.derived_.end());
    std::sort(atoms.begin(), atoms.end());
    return atoms;
}

Derivation::Derivation(const Task& task, std::span<const Code> root)
    : task_(task),
      view_(task, root),
      matcher_(view_),
      root_atoms_(static_cast<std::size_t>(task.predicates())),
      of_predicate_(static_cast<std::size_t>(task.predicates()), kSame),
      of_stratum_(task.strata.size(), kSame),
      arguments_(static_cast<std::size_t>(task.max_arity) + 1) {
    for (Code code : root) {
        const auto predicate = static_cast<std::size_t>(task.decode(code, arguments_.data()));
        if (task.derived[predicate]) root_atoms_[predicate].push_back(code);
    }
}

bool Derivation::holds_before(std::span<const Code> added, std::span<const Code> deleted, Code code) const {
    return view_.root_holds(code) ? !std::binary_search(deleted.begin(), deleted.end(), code)
                                  : std::binary_search(added.begin(), added.end(), code);
}

bool Derivation::find_affected(std::span<const Code> added, std::span<const Code> deleted, const Changes& changes) {
    std::fill(of_predicate_.begin(), of_predicate_.end(), kSame);
    fresh_.clear();
    for (Code code : changes.adds)
        if (!holds_before(added, deleted, code)) {
            of_predicate_[static_cast<std::size_t>(task_.decode(code, arguments_.data()))] = kGrows;
            fresh_.push_back(code);
        }
    for (Code code : changes.deletes)
        if (holds_before(added, deleted, code))
            of_predicate_[static_cast<std::size_t>(task_.decode(code, arguments_.data()))] = kChanges;
    bool any = false;
    for (std::size_t s = 0; s < task_.strata.size(); ++s) {
        const Stratum& stratum = task_.strata[s];
        Effect effect = kSame;
        for (std::size_t p = 0; p < of_predicate_.size(); ++p)
            if (stratum.inputs[p] && of_predicate_[p] != kSame)
                effect = std::max(effect, stratum.filters[p] ? kChanges : of_predicate_[p]);
        of_stratum_[s] = effect;
        any = any || effect != kSame;
        for (std::int32_t p : stratum.predicates) of_predicate_[static_cast<std::size_t>(p)] = effect;
    }
    return any;
}

void Derivation::extend(std::span<const Code> added, std::span<const Code> deleted, Changes& changes) {
    if (!find_affected(added, deleted, changes)) return;
    difference_.compute(added, deleted, changes, [&](Code code) { return view_.root_holds(code); });
    // The successor without the atoms of strata that are computed anew.
    auto is_changing = [&](std::size_t predicate) {
        return task_.derived[predicate] && of_predicate_[predicate] == kChanges;
    };
    auto is_stale = [&](Code code) {
        return is_changing(static_cast<std::size_t>(task_.decode(code, arguments_.data())));
    };
    shown_added_.clear();
    for (Code code : difference_.added)
        if (!is_stale(code)) shown_added_.push_back(code);
    shown_deleted_.clear();
    for (Code code : difference_.deleted)
        if (!is_stale(code)) shown_deleted_.push_back(code);
    for (std::size_t p = 0; p < root_atoms_.size(); ++p)
        if (is_changing(p)) shown_deleted_.insert(shown_deleted_.end(), root_atoms_[p].begin(), root_atoms_[p].end());
    view_.show(shown_added_, shown_deleted_);
    derived_.clear();
    for (std::size_t s = 0; s < task_.strata.size(); ++s)
        if (of_stratum_[s] != kSame) compute(task_.strata[s], of_stratum_[s]);
    for (Code code : derived_)
        if (!holds_before(added, deleted, code)) changes.adds.push_back(code);
    auto note_deleted = [&](Code code) {
        if (!view_.holds(code)) changes.deletes.push_back(code);
    };
    for (Code code : added)
        if (is_stale(code)) note_deleted(code);
    for (std::size_t p = 0; p < root_atoms_.size(); ++p)
        if (is_changing(p))
            for (Code code : root_atoms_[p])
                if (!std::binary_search(deleted.begin(), deleted.end(), code)) note_deleted(code);
    changes.settle();
}

// Round by round; from the second round on, or if the stratum only grows, only matches that use a fresh atom are
// sought.
void Derivation::compute(const Stratum& stratum, Effect effect) {
    std::size_t fresh = derived_.size();
    std::vector<Code> start;
    if (effect == kGrows) {
        start = fresh_;
        start.insert(start.end(), derived_.begin(), derived_.end());
    }
    for (std::size_t i = stratum.begin; i < stratum.end; ++i) run_rule(task_.axioms[i], effect == kGrows, start);
    while (fresh < derived_.size()) {
        const std::vector<Code> round(derived_.begin() + static_cast<std::ptrdiff_t>(fresh), derived_.end());
        fresh = derived_.size();
        for (std::size_t i = stratum.begin; i < stratum.end; ++i) {
            const Axiom& axiom = task_.axioms[i];
            if (axiom.recursive_nested)
                run_rule(axiom, false, {});
            else if (axiom.recursive)
                run_rule(axiom, true, round);
        }
    }
}

// Finds the atoms that an axiom makes true and that do not hold yet; if it is `anchored`, by a fresh atom.
void Derivation::run_rule(const Axiom& axiom, bool anchored, std::span<const Code> fresh) {
    const Literal& head = axiom.head[0];
    auto is_new = [&](const std::vector<Object>& bound) { return !view_.holds(task_.encode(head, bound)); };
    auto note = [&](const std::vector<Object>& bound) {
        found_.push_back(task_.encode(head, bound));
        return true;
    };
    MatchOptions options;
    if (!anchored) {
        options.wanted = axiom.wanted.data();
        binding_.assign(axiom.body.domains.size(), kUnbound);
        matcher_.run(axiom.body, binding_, options, is_new, note);
        insert_found();
        return;
    }
    const auto& literals = axiom.body.literals;
    for (Code code : fresh) {
        const std::int32_t predicate = task_.decode(code, arguments_.data());
        for (std::size_t l = 0; l < literals.size(); ++l)
            if (literals[l].predicate == predicate && literals[l].positive &&
                matcher_.unify(axiom.body, literals[l], arguments_.data(), binding_))
                matcher_.run(axiom.body, binding_, options, is_new, note, static_cast<std::int32_t>(l));
        insert_found();
    }
}

// Shows the atoms found; not before, since a join must not see its relations grow.
void Derivation::insert_found() {
    for (Code code : found_)
        if (!view_.holds(code)) {
            view_.insert(code);
            derived_.push_back(code);
        }
    found_.clear();
}

}  // namespace saltus

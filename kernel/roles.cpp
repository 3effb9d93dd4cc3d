#include "roles.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "colours.hpp"

namespace saltus {

Roles::Roles(const Task& task, std::span<const Code> goal_positive, std::span<const Code> goal_negative,
             std::int32_t fixed, std::int32_t most)
    : task_(task),
      fixed_(fixed),
      most_(static_cast<std::size_t>(most)),
      atoms_of_(task.object_type.size()),
      hash_(task.object_type.size()),
      grouped_(task.object_type.size(), 0),
      touched_(task.object_type.size(), 1),
      arguments_(static_cast<std::size_t>(task.max_arity) + 1),
      small_(task.object_type.size(), -1) {
    if (most < 1) throw std::invalid_argument("roles: expected at least one representative");
    if (fixed < 0 || fixed > task.objects()) throw std::invalid_argument("roles: fixed objects out of range");
    for (std::size_t o = 0; o < hash_.size(); ++o) {
        hash_[o] = mix(static_cast<std::uint64_t>(task.object_type[o]) + 1);
        changed_.push_back(static_cast<Object>(o));
    }
    for (std::int32_t p = 0; p < task.predicates(); ++p) {
        const Relation& relation = task.statics[static_cast<std::size_t>(p)];
        for (std::int32_t i = 0; i < relation.size; ++i)
            mark(number_of(task.encode(p, relation.row(i))), kStatic, true);
    }
    for (Code code : goal_positive) mark(number_of(code), kWanted, true);
    for (Code code : goal_negative) {
        mark(number_of(code), kUnwanted, true);
        ++satisfied_;
    }
}

std::int32_t Roles::number_of(Code code) {
    const std::int32_t number = numbers_.number(code);
    if (static_cast<std::size_t>(number) < atoms_.size()) return number;
    const std::int32_t predicate = task_.decode(code, arguments_.data());
    Atom atom{code, 0, 0};
    for (std::int32_t i = 0; i < task_.arity[static_cast<std::size_t>(predicate)]; ++i) {
        const Object object = arguments_[static_cast<std::size_t>(i)];
        atoms_of_[static_cast<std::size_t>(object)].push_back(number);
        if (!representatives_.contains(object)) ++atom.waiting;
    }
    atoms_.push_back(atom);
    return number;
}

// Adds the atom's terms to the roles of its objects, or takes them away.
void Roles::add_terms(const Atom& atom, bool negated) {
    const std::int32_t predicate = task_.decode(atom.code, arguments_.data());
    const auto arity = static_cast<std::size_t>(task_.arity[static_cast<std::size_t>(predicate)]);
    const std::uint64_t label = join(atom.marks, static_cast<std::uint64_t>(predicate));
    visit_parts(label, std::span(arguments_).first(arity), [&](Object part, std::uint64_t hash) {
        const auto object = static_cast<std::size_t>(part);
        hash_[object] += negated ? 0 - hash : hash;
        if (touched_[object]) return;
        touched_[object] = 1;
        changed_.push_back(part);
    });
}

void Roles::mark(std::int32_t number, Mark mark, bool on) {
    Atom& atom = atoms_[static_cast<std::size_t>(number)];
    if (atom.marks != 0) add_terms(atom, true);
    atom.marks = static_cast<std::uint8_t>(on ? atom.marks | mark : atom.marks & ~mark);
    if (atom.marks != 0) add_terms(atom, false);
}

void Roles::update(std::span<const Code> state) {
    auto set = [&](Code code, bool on) {
        const std::int32_t number = number_of(code);
        mark(number, kInState, on);
        const std::uint8_t marks = atoms_[static_cast<std::size_t>(number)].marks;
        if ((marks & kWanted) != 0) satisfied_ += on ? 1 : -1;
        if ((marks & kUnwanted) != 0) satisfied_ -= on ? 1 : -1;
    };
    auto old = state_.begin();
    auto now = state.begin();
    for (;;) {
        std::tie(old, now) = std::mismatch(old, state_.end(), now, state.end());
        if (old == state_.end() && now == state.end()) break;
        if (now == state.end() || (old != state_.end() && *old < *now))
            set(*old++, false);
        else
            set(*now++, true);
    }
    state_.assign(state.begin(), state.end());
}

// Lists changed objects under their new roles, and chooses the representatives of all roles concerned.
void Roles::regroup() {
    std::vector<std::uint64_t> concerned;
    for (Object object : changed_) {
        const auto o = static_cast<std::size_t>(object);
        touched_[o] = 0;
        // Every object the domain names has a role of its own: exchanging it would change what actions do.
        const std::uint64_t role = object < fixed_ ? join(hash_[o], static_cast<std::uint64_t>(object) + 7) : hash_[o];
        const auto found = roles_.find(grouped_[o]);
        if (found != roles_.end() && found->second.objects.contains(object)) {
            if (role == grouped_[o]) continue;
            found->second.objects.erase(object);
            concerned.push_back(grouped_[o]);
        }
        grouped_[o] = role;
        roles_[role].objects.insert(object);
        concerned.push_back(role);
    }
    changed_.clear();
    sort_unique(concerned);
    // An object that only changes its role stays a representative, without a look at its atoms, which may be many.
    std::vector<Object> dropped;
    std::vector<Object> chosen;
    for (std::uint64_t key : concerned) {
        Role& role = roles_[key];
        dropped.insert(dropped.end(), role.representatives.begin(), role.representatives.end());
        role.representatives.clear();
        for (Object object : role.objects) {
            if (role.representatives.size() == most_) break;
            role.representatives.push_back(object);
        }
        chosen.insert(chosen.end(), role.representatives.begin(), role.representatives.end());
        if (role.objects.empty()) roles_.erase(key);
    }
    std::sort(chosen.begin(), chosen.end());
    for (Object object : dropped)
        if (!std::binary_search(chosen.begin(), chosen.end(), object)) represent(object, false);
    for (Object object : chosen) represent(object, true);
}

void Roles::represent(Object object, bool on) {
    if (representatives_.contains(object) == on) return;
    if (on)
        representatives_.insert(object);
    else
        representatives_.erase(object);
    for (std::int32_t number : atoms_of_[static_cast<std::size_t>(object)])
        atoms_[static_cast<std::size_t>(number)].waiting += on ? -1 : 1;
}

Projection Roles::project(std::span<const Code> state) {
    const std::scoped_lock lock(mutex_);
    update(state);
    regroup();
    Projection result;
    if (representatives_.size() == hash_.size()) return result;
    result.representatives.assign(representatives_.begin(), representatives_.end());
    for (std::size_t i = 0; i < result.representatives.size(); ++i)
        small_[static_cast<std::size_t>(result.representatives[i])] = static_cast<std::int32_t>(i);
    const auto count = static_cast<Code>(result.representatives.size());
    std::vector<Code> code_offset{0};
    for (std::int32_t arity : task_.arity) {
        Code atoms = 1;
        for (std::int32_t i = 0; i < arity; ++i) atoms *= count;
        code_offset.push_back(code_offset.back() + atoms);
    }
    result.static_count.assign(task_.arity.size(), 0);
    result.satisfied = satisfied_;
    std::vector<std::pair<Code, std::uint8_t>> atoms;
    for (const Atom& atom : atoms_) {
        if (atom.marks == 0 || atom.waiting != 0) continue;
        atoms.emplace_back(atom.code, atom.marks);
        if ((atom.marks & kWanted) != 0 && (atom.marks & kInState) != 0) --result.satisfied;
        if ((atom.marks & kUnwanted) != 0 && (atom.marks & kInState) == 0) --result.satisfied;
    }
    std::sort(atoms.begin(), atoms.end());
    for (const auto& [code, marks] : atoms) {
        const auto p = static_cast<std::size_t>(task_.decode(code, arguments_.data()));
        Code small = 0;
        for (std::int32_t i = 0; i < task_.arity[p]; ++i) {
            const std::int32_t object = small_[static_cast<std::size_t>(arguments_[static_cast<std::size_t>(i)])];
            if ((marks & kStatic) != 0) result.static_rows.push_back(object);
            small = small * count + object;
        }
        small += code_offset[p];
        if ((marks & kStatic) != 0) ++result.static_count[p];
        if ((marks & kInState) != 0) result.state.push_back(small);
        if ((marks & kWanted) != 0) result.goal_positive.push_back(small);
        if ((marks & kUnwanted) != 0) result.goal_negative.push_back(small);
    }
    return result;
}

std::vector<Code> lift_codes(const Task& small, const Task& whole, std::span<const Object> representatives,
                             std::span<const Code> codes) {
    if (representatives.size() != small.object_type.size() || small.arity != whole.arity)
        throw std::invalid_argument("lift_codes: the tasks do not belong together");
    for (Object object : representatives)
        if (object < 0 || object >= whole.objects()) throw std::invalid_argument("lift_codes: object out of range");
    std::vector<Code> result;
    result.reserve(codes.size());
    std::vector<Object> arguments(static_cast<std::size_t>(small.max_arity) + 1);
    for (Code code : codes) {
        if (code < 0 || code >= small.code_offset.back()) throw std::invalid_argument("lift_codes: code out of range");
        const std::int32_t predicate = small.decode(code, arguments.data());
        for (std::int32_t i = 0; i < small.arity[static_cast<std::size_t>(predicate)]; ++i) {
            Object& argument = arguments[static_cast<std::size_t>(i)];
            argument = representatives[static_cast<std::size_t>(argument)];
        }
        result.push_back(whole.encode(predicate, arguments.data()));
    }
    return result;
}

}  // namespace saltus

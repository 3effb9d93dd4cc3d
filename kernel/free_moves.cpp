#include "free_moves.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>

#include "interrupt.hpp"
#include "state.hpp"

namespace saltus {

namespace {

constexpr std::size_t kMaxEdges = std::size_t{1} << 22;  // per move; groups with more are not closed over
constexpr std::size_t kMaxMoves = 64;                    // per group: one bit each

bool mentions(const Literal& literal, std::int32_t variable) {
    return std::find(literal.terms.begin(), literal.terms.end(), variable) != literal.terms.end();
}

bool same_atom(const Literal& a, const Literal& b) { return a.predicate == b.predicate && a.terms == b.terms; }

}  // namespace

FreeMoves::FreeMoves(const Task& task, std::span<const Description> groups) : task_(task), groups_(groups.size()) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
        read(groups[g], groups_[g]);
        build(groups_[g]);
    }
}

std::pair<std::size_t, std::size_t> FreeMoves::row(const Move& move, std::int32_t class_number, Object place) const {
    if (move.dense) {
        const bool known = std::binary_search(move.ends.begin(), move.ends.end(), place);
        return {0, known ? move.ends.size() : 0};
    }
    if (class_number < 0) return {0, 0};
    const std::int32_t row = move.row_of.empty() ? move.rows.find(row_key(class_number, place))
                                                 : move.row_of[static_cast<std::size_t>(place)];
    if (row < 0) return {0, 0};
    return {move.first[static_cast<std::size_t>(row)], move.first[static_cast<std::size_t>(row) + 1]};
}

void FreeMoves::read(const Description& given, Group& group) const {
    auto within = [](std::int32_t value, std::size_t below, const char* what) {
        if (value < 0 || static_cast<std::size_t>(value) >= below)
            throw std::invalid_argument(std::string("free moves: ") + what + " out of range");
        return static_cast<std::size_t>(value);
    };
    const std::size_t predicate = within(given.predicate, task_.arity.size(), "predicate");
    const std::int32_t arity = task_.arity[predicate];
    if (!task_.fluent[predicate]) throw std::invalid_argument("free moves: predicate is static");
    within(given.place, static_cast<std::size_t>(arity), "place");
    if (given.objects.size() != static_cast<std::size_t>(arity))
        throw std::invalid_argument("free moves: objects do not fit the arguments");
    group.predicate = given.predicate;
    group.place = given.place;
    group.blocked_by_others = given.blocked_by_others;
    for (std::int32_t i = group.place + 1; i < arity; ++i) group.stride *= task_.objects();
    for (const std::vector<Object>& objects : given.objects) {
        group.objects.emplace_back(static_cast<std::size_t>(task_.objects()), 0);
        for (Object object : objects) group.objects.back()[within(object, task_.object_type.size(), "object")] = 1;
    }
    if (given.moves.empty() || given.moves.size() > kMaxMoves)
        throw std::invalid_argument("free moves: number of moves out of range");
    for (const auto& [schema, literal, start, end] : given.moves) {
        const Pattern& pattern = task_.schemas[within(schema, task_.schemas.size(), "schema")].pattern;
        within(literal, pattern.literals.size(), "precondition");
        within(start, pattern.domains.size(), "start");
        within(end, pattern.domains.size(), "end");
        add_move(group, schema, literal, start, end);
    }
}

void FreeMoves::add_move(Group& group, std::int32_t schema, std::int32_t literal, std::int32_t start,
                         std::int32_t end) const {
    const Pattern& pattern = task_.schemas[static_cast<std::size_t>(schema)].pattern;
    Move move;
    move.schema = schema;
    move.start = start;
    move.end = end;
    move.here = pattern.literals[static_cast<std::size_t>(literal)];
    const auto place = static_cast<std::size_t>(group.place);
    if (move.here.predicate != group.predicate || !move.here.positive || move.here.terms[place] != start ||
        start == end || mentions(move.here, end) ||
        std::count(move.here.terms.begin(), move.here.terms.end(), start) != 1)
        throw std::invalid_argument("free moves: precondition does not fit the move");
    Literal there = move.here;
    there.terms[place] = end;
    there.positive = false;
    auto of_agent = [&](std::int32_t term) { return term < 0 || (term != start && mentions(move.here, term)); };
    move.pattern.domains = pattern.domains;
    for (const Literal& other : pattern.literals) {
        if (task_.is_nested(other)) throw std::invalid_argument("free moves: a move has a nested condition");
        if (same_atom(other, move.here) || (same_atom(other, there) && !other.positive)) continue;
        move.pattern.literals.push_back(other);
        const bool fixed = other.predicate == kEquality || !task_.fluent[static_cast<std::size_t>(other.predicate)];
        if (!fixed) {
            move.changing.push_back(other);
            for (std::int32_t term : other.terms)
                move.direct = move.direct && (of_agent(term) || term == start || term == end);
        } else if (std::all_of(other.terms.begin(), other.terms.end(), of_agent)) {
            move.own.push_back(other);
        } else if (std::any_of(other.terms.begin(), other.terms.end(),
                               [&](std::int32_t term) { return term >= 0 && of_agent(term); })) {
            group.by_agent = true;
        }
    }
    if (move.direct)
        for (const Literal& changing : move.changing) move.conditions.push_back(condition_of(move, changing));
    group.is_fixed = group.is_fixed && move.changing.empty();
    group.moves.push_back(std::move(move));
}

void FreeMoves::build(Group& group) const {
    const StateView nothing(task_, {});
    const Matcher matcher(nothing);
    bool is_complete = true;
    try {
        for (Move& move : group.moves)
            is_complete = is_complete && (find_dense(group, move) || enumerate(group, move, matcher));
        if (is_complete) {
            find_ways_back(group);
            if (group.is_fixed) find_components(group);
        }
    } catch (const std::bad_alloc&) {
        is_complete = false;
    }
    if (is_complete) return;
    for (Move& move : group.moves) {  // too many edges: as if there were none
        move.ends = {};
        move.back = {};
        move.rows = KeyNumbers();
        move.row_of = {};
        move.first.assign(1, 0);
        move.dense = false;
    }
    group.vertices = KeyNumbers();
    group.component = {};
    group.members = {};
    group.symmetric = false;
    group.reversible = false;
}

// A single move between any two of its places, as far as static atoms tell: no list of pairs is needed.
bool FreeMoves::find_dense(const Group& group, Move& move) const {
    if (group.moves.size() != 1 || group.by_agent) return false;
    std::vector<Literal> of_start;
    std::vector<Literal> of_end;
    for (const Literal& literal : move.pattern.literals) {
        if (literal.predicate == kEquality) {
            // Being different is what every edge asks for anyway.
            if (literal.positive || !mentions(literal, move.start) || !mentions(literal, move.end)) return false;
            continue;
        }
        if (task_.fluent[static_cast<std::size_t>(literal.predicate)]) continue;
        auto is_about = [&](auto&& admits) {
            return std::all_of(literal.terms.begin(), literal.terms.end(),
                               [&](std::int32_t term) { return term < 0 || admits(term); });
        };
        if (is_about([&](std::int32_t term) { return term == move.start; }))
            of_start.push_back(literal);
        else if (is_about([&](std::int32_t term) { return term == move.end; }))
            of_end.push_back(literal);
        else if (!is_about([&](std::int32_t term) { return term != move.start && mentions(move.here, term); }))
            return false;
    }
    auto places = [&](std::int32_t variable, const std::vector<Literal>& conditions) {
        std::vector<Object> found;
        std::vector<Object> binding(move.pattern.domains.size(), kUnbound);
        const auto domain = static_cast<std::size_t>(move.pattern.domains[static_cast<std::size_t>(variable)]);
        for (Object object : task_.domains[domain].members) {
            binding[static_cast<std::size_t>(variable)] = object;
            if (std::all_of(conditions.begin(), conditions.end(), [&](const Literal& literal) {
                    return task_.static_holds(task_.encode(literal, binding)) == literal.positive;
                }))
                found.push_back(object);
        }
        return found;
    };
    std::vector<Object> ends = places(move.end, of_end);
    if (ends != places(move.start, of_start)) return false;
    for (std::size_t v = 0; v < move.pattern.domains.size(); ++v)
        if (task_.domains[static_cast<std::size_t>(move.pattern.domains[v])].members.empty()) return false;
    move.ends = std::move(ends);
    move.dense = true;
    return true;
}

bool FreeMoves::enumerate(Group& group, Move& move, const Matcher& matcher) const {
    Pattern fixed;
    fixed.domains = move.pattern.domains;
    std::vector<std::uint8_t> wanted(fixed.domains.size(), 0);
    wanted[static_cast<std::size_t>(move.start)] = wanted[static_cast<std::size_t>(move.end)] = 1;
    if (group.by_agent)
        for (std::int32_t term : move.here.terms)
            if (term >= 0) wanted[static_cast<std::size_t>(term)] = 1;
    for (const Literal& literal : move.pattern.literals) {
        if (literal.predicate != kEquality && task_.fluent[static_cast<std::size_t>(literal.predicate)]) continue;
        const bool is_own = std::any_of(move.own.begin(), move.own.end(), [&](const Literal& own) {
            return same_atom(own, literal) && own.positive == literal.positive;
        });
        if (group.by_agent || !is_own) fixed.literals.push_back(literal);
    }
    std::vector<std::tuple<std::int64_t, Object, Object>> edges;  // class, start, end
    std::vector<Object> binding(fixed.domains.size(), kUnbound);
    MatchOptions options;
    options.wanted = wanted.data();
    Matcher join(matcher.view());
    auto add_edge = [&](const std::vector<Object>& bound) {
        const Object start = bound[static_cast<std::size_t>(move.start)];
        const Object end = bound[static_cast<std::size_t>(move.end)];
        if (start == end) return true;
        std::int64_t number = 0;
        if (group.by_agent) number = group.classes.number(task_.encode(move.here, bound) - start * group.stride);
        edges.emplace_back(number, start, end);
        return edges.size() <= kMaxEdges;
    };
    auto any = [](const std::vector<Object>&) { return true; };
    // A literal that has all that is wanted is where to start from: its atoms are the edges, but for those that the
    // other literals rule out. A join would start from the smallest relation.
    const auto full = std::find_if(fixed.literals.begin(), fixed.literals.end(), [&](const Literal& literal) {
        for (std::size_t v = 0; v < wanted.size(); ++v)
            if (wanted[v] && !mentions(literal, static_cast<std::int32_t>(v))) return false;
        return literal.positive && literal.predicate != kEquality;
    });
    bool complete = true;
    if (full == fixed.literals.end()) {
        complete = join.run(fixed, binding, options, add_edge);
    } else {
        const Relation& relation = task_.statics[static_cast<std::size_t>(full->predicate)];
        const auto given = static_cast<std::int32_t>(full - fixed.literals.begin());
        for (std::int32_t row = 0; row < relation.size && complete; ++row)
            if (join.unify(fixed, *full, relation.row(row), binding))
                complete = join.run(fixed, binding, options, any, add_edge, given);
    }
    if (!complete) return false;
    sort_unique(edges);
    move.ends.reserve(edges.size());
    for (const auto& [number, start, end] : edges) {
        const std::int64_t key = row_key(static_cast<std::int32_t>(number), start);
        if (move.rows.number(key) == static_cast<std::int32_t>(move.first.size()))
            move.first.push_back(move.ends.size());
        move.ends.push_back(end);
    }
    move.first.push_back(move.ends.size());
    if (!group.by_agent) {
        move.row_of.assign(static_cast<std::size_t>(task_.objects()), -1);
        move.rows.visit([&](std::int64_t key, std::int32_t row) { move.row_of[static_cast<std::size_t>(key)] = row; });
    }
    return true;
}

Condition FreeMoves::condition_of(const Move& move, const Literal& literal) const {
    Condition condition;
    condition.positive = literal.positive;
    condition.base = task_.code_offset[static_cast<std::size_t>(literal.predicate)];
    Code stride = 1;
    for (std::size_t i = literal.terms.size(); i-- > 0; stride *= task_.objects()) {
        const std::int32_t term = literal.terms[i];
        if (term < 0) {
            condition.base += ~term * stride;
        } else if (term == move.start) {
            condition.start += stride;
        } else if (term == move.end) {
            condition.end += stride;
        } else {
            const auto found = std::find(move.here.terms.begin(), move.here.terms.end(), term);
            condition.agent.emplace_back(static_cast<std::size_t>(found - move.here.terms.begin()), stride);
        }
    }
    return condition;
}

void FreeMoves::find_ways_back(Group& group) const {
    for (Move& move : group.moves) {
        if (move.dense) {
            group.reversible = move.ends.size() > 1 && share_agent(group, move, move);
            group.symmetric = group.is_fixed;
            return;
        }
        move.back.assign(move.ends.size(), 0);
    }
    const std::int64_t objects = task_.objects();
    // Rows are numbered in the order of their keys, so they can be walked with their starts.
    for (Move& move : group.moves) {
        for (const Move& other : group.moves) {
            const auto bit = std::uint64_t{1} << (&other - group.moves.data());
            move.rows.visit([&](std::int64_t key, std::int32_t row) {
                const auto start = static_cast<Object>(key % objects);
                const auto number = static_cast<std::int32_t>(key / objects);
                for (std::size_t e = move.first[static_cast<std::size_t>(row)];
                     e < move.first[static_cast<std::size_t>(row) + 1]; ++e) {
                    const auto [begin, stop] = this->row(other, number, move.ends[e]);
                    const auto first = other.ends.begin() + static_cast<std::ptrdiff_t>(begin);
                    const auto last = other.ends.begin() + static_cast<std::ptrdiff_t>(stop);
                    if (std::binary_search(first, last, start)) move.back[e] |= bit;
                }
            });
        }
    }
    // Where moves serve different agents, only the same move is sure to lead an agent back.
    auto serves_all = [&](const Move& move) {
        std::vector<std::uint8_t> known(move.pattern.domains.size(), 0);
        for (std::size_t i = 0; i < move.here.terms.size(); ++i) {
            const std::int32_t term = move.here.terms[i];
            if (i == static_cast<std::size_t>(group.place)) continue;
            if (term < 0 || known[static_cast<std::size_t>(term)]++ != 0) return false;
            const auto domain = static_cast<std::size_t>(move.pattern.domains[static_cast<std::size_t>(term)]);
            const std::vector<Object>& members = task_.domains[domain].members;
            for (Object o = 0; o < task_.objects(); ++o)
                if (group.objects[i][static_cast<std::size_t>(o)] != 0 &&
                    !std::binary_search(members.begin(), members.end(), o))
                    return false;
        }
        return move.own.empty();
    };
    const bool alike = group.by_agent || std::all_of(group.moves.begin(), group.moves.end(), serves_all);
    group.symmetric = group.is_fixed;
    for (std::size_t m = 0; m < group.moves.size(); ++m) {
        std::uint64_t known = 0;
        for (std::uint64_t back : group.moves[m].back) {
            known |= back;
            group.symmetric = group.symmetric && (alike ? back != 0 : (back >> m & 1) != 0);
        }
        for (std::size_t other = 0; other < group.moves.size() && !group.reversible; ++other)
            group.reversible =
                (known >> other & 1) != 0 && (alike || share_agent(group, group.moves[m], group.moves[other]));
    }
}

bool FreeMoves::serves(const Group& group, const Move& move, const Object* arguments) const {
    std::vector<Object> binding(move.pattern.domains.size(), kUnbound);
    for (std::size_t i = 0; i < move.here.terms.size(); ++i) {
        if (i == static_cast<std::size_t>(group.place)) continue;
        const std::int32_t term = move.here.terms[i];
        if (!admits(move, i, arguments[i])) return false;
        if (term >= 0 && binding[static_cast<std::size_t>(term)] == kUnbound)
            binding[static_cast<std::size_t>(term)] = arguments[i];
        if (value_of(term, binding) != arguments[i]) return false;
    }
    return std::all_of(move.own.begin(), move.own.end(), [&](const Literal& literal) {
        if (literal.predicate == kEquality)
            return (value_of(literal.terms[0], binding) == value_of(literal.terms[1], binding)) == literal.positive;
        return task_.static_holds(task_.encode(literal, binding)) == literal.positive;
    });
}

// Whether an object may be at a position of the literal that says where a move's agent is.
bool FreeMoves::admits(const Move& move, std::size_t i, Object object) const {
    const std::int32_t term = move.here.terms[i];
    if (term < 0) return ~term == object;
    const auto domain = static_cast<std::size_t>(move.pattern.domains[static_cast<std::size_t>(term)]);
    return task_.domains[domain].allowed[static_cast<std::size_t>(object)] != 0;
}

// Whether some agent may use both moves, as far as its own objects tell.
bool FreeMoves::share_agent(const Group& group, const Move& a, const Move& b) const {
    std::vector<Object> agent(group.objects.size(), 0);
    Ticker ticker;
    auto search = [&](auto&& self, std::size_t i) -> bool {
        if (i == agent.size()) {
            ticker.tick();
            return serves(group, a, agent.data()) && serves(group, b, agent.data());
        }
        if (i == static_cast<std::size_t>(group.place)) return self(self, i + 1);
        for (Object object = 0; object < task_.objects(); ++object) {
            agent[i] = object;
            if (group.objects[i][static_cast<std::size_t>(object)] != 0 && admits(a, i, object) &&
                admits(b, i, object) && self(self, i + 1))
                return true;
        }
        return false;
    };
    return search(search, 0);
}

void FreeMoves::find_components(Group& group) const {
    if (group.moves[0].dense) {
        for (Object place : group.moves[0].ends) group.vertices.number(row_key(0, place));
        group.component.assign(group.moves[0].ends.size(), 0);
        group.members.push_back(group.moves[0].ends);
        return;
    }
    std::vector<std::int64_t> keys;
    auto vertex = [&](std::int64_t key) {
        const std::int32_t number = group.vertices.number(key);
        if (static_cast<std::size_t>(number) == keys.size()) keys.push_back(key);
        return number;
    };
    const std::int64_t objects = task_.objects();
    std::vector<std::int32_t> root;  // union-find
    auto find = [&](std::int32_t v) {
        while (root[static_cast<std::size_t>(v)] != v) {
            auto& up = root[static_cast<std::size_t>(v)];
            up = root[static_cast<std::size_t>(up)];
            v = up;
        }
        return v;
    };
    for (const Move& move : group.moves)
        move.rows.visit([&](std::int64_t key, std::int32_t row) {
            const std::int32_t from = vertex(key);
            const std::int64_t base = key - key % objects;
            for (std::size_t e = move.first[static_cast<std::size_t>(row)];
                 e < move.first[static_cast<std::size_t>(row) + 1]; ++e) {
                const std::int32_t to = vertex(base + move.ends[e]);
                while (root.size() < keys.size()) root.push_back(static_cast<std::int32_t>(root.size()));
                if (move.back[e] != 0) root[static_cast<std::size_t>(find(from))] = find(to);
            }
        });
    while (root.size() < keys.size()) root.push_back(static_cast<std::int32_t>(root.size()));
    group.component.assign(keys.size(), -1);
    for (std::size_t v = 0; v < keys.size(); ++v) {
        const auto top = static_cast<std::size_t>(find(static_cast<std::int32_t>(v)));
        if (group.component[top] < 0) {
            group.component[top] = static_cast<std::int32_t>(group.members.size());
            group.members.emplace_back();
        }
        group.component[v] = group.component[top];
        group.members[static_cast<std::size_t>(group.component[v])].push_back(static_cast<Object>(keys[v] % objects));
    }
    for (auto& places : group.members) std::sort(places.begin(), places.end());
}

}  // namespace saltus

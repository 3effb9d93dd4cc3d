// Task: the lifted task in the kernel's form: patterns, effects, and indices over the static atoms.
//
// Immutable once built, so any number of threads may share it. Built from what src/saltus/task/kernel_task.py
// describes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "keys.hpp"

namespace saltus {

using Object = std::int32_t;
using Code = std::int64_t;

inline constexpr std::int32_t kEquality = -1;  // predicate number of equality literals
inline constexpr std::int32_t kNested = -2;    // predicate number of the first nested condition; others count down
inline constexpr Object kUnbound = -1;
inline constexpr std::size_t kMaxVariables = 64;  // per pattern: the matcher recurses over them

// Counts saturate here: more can never be enumerated.
inline constexpr std::int64_t kMany = std::int64_t{1} << 62;
inline std::int64_t saturating_sum(std::int64_t a, std::int64_t b) { return a >= kMany - b ? kMany : a + b; }
inline std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
    return b != 0 && a > kMany / b ? kMany : a * b;
}

// A literal; one with a predicate number up to kNested stands for a nested condition, and is negative: it is tested
// once its terms are bound, as negative literals are.
struct Literal {
    std::int32_t predicate = 0;
    bool positive = true;
    std::vector<std::int32_t> terms;  // >= 0 variable, < 0 ~object
};

inline Object value_of(std::int32_t term, const std::vector<Object>& binding) {
    return term >= 0 ? binding[static_cast<std::size_t>(term)] : ~term;
}

// A conjunction over variables, each with a domain: an action's precondition, an effect's condition, a query.
struct Pattern {
    std::vector<std::int32_t> domains;  // [variables]: number of the domain
    std::vector<Literal> literals;
};

// A condition within a condition: whether its pattern has a match or, if it is not positive, whether it has none.
struct Nested {
    bool positive = true;
    std::size_t shared = 0;  // its first variables, bound by the surroundings
    Pattern pattern;
    bool fluent = false;  // mentions a fluent predicate, at any depth
};

// A rule that makes an atom true in every state in which its body matches. The body's first variables are the atom's
// arguments.
struct Axiom {
    std::int32_t stratum = 0;
    std::vector<Literal> head;  // one
    Pattern body;
    std::vector<std::uint8_t> wanted;  // [variables]: occurs in the head
    bool recursive = false;            // a literal of the body has a predicate of the same stratum
    bool recursive_nested = false;     // the same below a nested condition
};

// Axioms that depend on each other, on lower strata and on predicates that actions change.
struct Stratum {
    std::size_t begin = 0;  // axioms
    std::size_t end = 0;
    std::vector<std::int32_t> predicates;  // derived here
    std::vector<std::uint8_t> inputs;      // [predicates]: mentioned by its axioms, at any depth
    std::vector<std::uint8_t> filters;     // [predicates]: mentioned by negative literals or nested conditions
};

struct Effect {
    Pattern when;  // variables: the schema's parameters, then the effect's own
    std::vector<Literal> adds;
    std::vector<Literal> deletes;
};

struct Schema {
    Pattern pattern;
    std::vector<Effect> effects;
    bool conditional = false;             // what it adds or whether it applies depends on more than its literals
    std::vector<std::uint8_t> projected;  // [parameters]: occurs in an added atom
    bool projects = false;                // some parameter does not
};

// Objects that a variable may take.
struct Domain {
    std::vector<std::uint8_t> allowed;  // [objects]
    std::vector<Object> members;        // ascending
};

// Atoms of one predicate with an index for every argument position.
struct Relation {
    std::int32_t arity = 0;
    std::vector<Object> rows;                       // [atoms, arity], sorted
    std::vector<std::vector<std::int32_t>> first;   // [arity][objects + 1]
    std::vector<std::vector<std::int32_t>> row_of;  // [arity][atoms], grouped by object, ascending
    std::int32_t size = 0;

    void build(std::int32_t objects);
    std::span<const std::int32_t> rows_with(std::size_t position, Object object) const {
        const auto& starts = first[position];
        const auto begin = static_cast<std::size_t>(starts[static_cast<std::size_t>(object)]);
        const auto end = static_cast<std::size_t>(starts[static_cast<std::size_t>(object) + 1]);
        return std::span<const std::int32_t>(row_of[position]).subspan(begin, end - begin);
    }
    // Rows [begin, end) that start with these arguments; rows are sorted.
    std::pair<std::int32_t, std::int32_t> rows_from(const Object* prefix, std::size_t length) const;
    const Object* row(std::int32_t i) const { return rows.data() + static_cast<std::ptrdiff_t>(i) * arity; }
};

// Conditions and effects of a task. Of axioms, only stratum, body and the predicate of the head are given.
struct Lifted {
    std::int32_t types = 0;
    std::vector<std::vector<Object>> domains;  // ascending; the last one holds all objects
    std::vector<Nested> nested;
    std::vector<Schema> schemas;
    std::vector<Axiom> axioms;
};

class Task {
public:
    Task(Lifted&& lifted, std::span<const std::int32_t> object_type, std::span<const std::int32_t> arity,
         std::span<const std::uint8_t> fluent, std::span<const Code> code_offset,
         std::span<const std::int32_t> static_rows, std::span<const std::int64_t> static_start);

    std::int32_t objects() const { return static_cast<std::int32_t>(object_type.size()); }
    std::int32_t predicates() const { return static_cast<std::int32_t>(arity.size()); }

    Code encode(std::int32_t predicate, const Object* arguments) const {
        Code code = 0;
        for (std::int32_t i = 0; i < arity[static_cast<std::size_t>(predicate)]; ++i)
            code = code * objects() + arguments[i];
        return code + code_offset[static_cast<std::size_t>(predicate)];
    }
    // Code of a fully bound literal.
    Code encode(const Literal& literal, const std::vector<Object>& binding) const {
        Code code = 0;
        for (std::int32_t term : literal.terms) code = code * objects() + value_of(term, binding);
        return code + code_offset[static_cast<std::size_t>(literal.predicate)];
    }
    // Predicate of a code; writes its arguments, at most max_arity of them.
    std::int32_t decode(Code code, Object* arguments) const;

    bool static_holds(Code code) const { return static_codes_.find(code) >= 0; }

    bool is_nested(const Literal& literal) const { return literal.predicate <= kNested; }
    const Nested& nested_of(const Literal& literal) const {
        return nested[static_cast<std::size_t>(kNested - literal.predicate)];
    }
    // Whether the truth of a literal may change.
    bool is_fluent(const Literal& literal) const {
        if (literal.predicate == kEquality) return false;
        if (is_nested(literal)) return nested_of(literal).fluent;
        return fluent[static_cast<std::size_t>(literal.predicate)] != 0;
    }

    // Number of the domain of all objects.
    std::int32_t anything() const { return static_cast<std::int32_t>(domains.size()) - 1; }

    // Checks of input: each throws an invalid_argument that says what does not fit this task.
    void check_codes(std::span<const Code> codes) const;  // sorted
    void check_state(std::span<const Code> state) const;  // strictly ascending, fluent
    void check_pattern(const Pattern& pattern) const;
    void check_schema(std::int32_t schema) const;
    void check_action(std::int32_t schema, std::span<const Object> arguments) const;

    std::vector<std::int32_t> object_type;
    std::vector<std::int32_t> arity;
    std::vector<std::uint8_t> fluent;
    std::vector<Code> code_offset;  // [predicates + 1]
    std::int32_t types = 0;
    std::int32_t max_arity = 0;
    std::vector<Domain> domains;
    std::vector<Nested> nested;
    std::vector<Schema> schemas;
    std::vector<Axiom> axioms;  // by stratum
    std::vector<Stratum> strata;
    std::vector<std::uint8_t> derived;  // [predicates]
    std::vector<Object> constants;      // objects named by schemas
    std::vector<Relation> statics;      // [predicates], empty for fluent ones

private:
    void take_domains(std::vector<std::vector<Object>>&& members);
    void take_nested(std::vector<Nested>&& entries);
    void complete_schema(Schema& schema) const;
    void take_axioms(std::vector<Axiom>&& entries);
    void find_strata();
    void mention(const Pattern& pattern, std::vector<std::uint8_t>& predicates) const;
    void mark_conditional(Schema& schema) const;
    void find_constants();
    void read_statics(std::span<const std::int32_t> rows, std::span<const std::int64_t> start);
    void check_atoms() const;
    void check_literal(const Literal& literal, std::size_t variables) const;
    void check_effect(const Effect& effect) const;

    KeyNumbers static_codes_;
};

}  // namespace saltus

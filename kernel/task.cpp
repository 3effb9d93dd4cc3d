#include "task.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
namespace saltus {

void Relation::build(std::int32_t objects) {
    const auto width = static_cast<std::size_t>(arity);
    first.assign(width, {});
    row_of.assign(width, {});
    for (std::size_t position = 0; position < width; ++position) {
        auto& starts = first[position];
        auto& order = row_of[position];
        starts.assign(static_cast<std::size_t>(objects) + 1, 0);
        order.resize(static_cast<std::size_t>(size));
        for (std::int32_t i = 0; i < size; ++i) ++starts[static_cast<std::size_t>(row(i)[position]) + 1];
        for (std::size_t o = 1; o < starts.size(); ++o) starts[o] += starts[o - 1];
        std::vector<std::int32_t> next(starts.begin(), starts.end() - 1);
        for (std::int32_t i = 0; i < size; ++i)
            order[static_cast<std::size_t>(next[static_cast<std::size_t>(row(i)[position])]++)] = i;
    }
}

std::pair<std::int32_t, std::int32_t> Relation::rows_from(const Object* prefix, std::size_t length) const {
    // Rows are sorted, so those with the same first argument are consecutive: search only among them.
    const auto& starts = first[0];
    std::int32_t begin = starts[static_cast<std::size_t>(prefix[0])];
    std::int32_t end = starts[static_cast<std::size_t>(prefix[0]) + 1];
    auto before = [&](std::int32_t i, bool or_equal) {
        for (std::size_t k = 1; k < length; ++k)
            if (row(i)[k] != prefix[k]) return row(i)[k] < prefix[k];
        return or_equal;
    };
    auto bound = [&](bool or_equal) {
        std::int32_t low = begin;
        std::int32_t high = end;
        while (low < high) {
            const std::int32_t middle = low + (high - low) / 2;
            if (before(middle, or_equal))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    };
    begin = bound(false);
    return {begin, bound(true)};
}

namespace {

template <typename Values>
bool strictly_ascending(const Values& values) {
    return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

}  // namespace

Task::Task(Lifted&& lifted, std::span<const std::int32_t> object_types, std::span<const std::int32_t> arities,
           std::span<const std::uint8_t> fluents, std::span<const Code> code_offsets,
           std::span<const std::int32_t> static_rows, std::span<const std::int64_t> static_start)
    : object_type(object_types.begin(), object_types.end()),
      arity(arities.begin(), arities.end()),
      fluent(fluents.begin(), fluents.end()),
      code_offset(code_offsets.begin(), code_offsets.end()) {
    check_atoms();
    for (std::int32_t n : arity) max_arity = std::max(max_arity, n);
    types = lifted.types;
    for (std::int32_t type : object_type)
        if (type < 0 || type >= types) throw std::invalid_argument("task: type of an object out of range");
    take_domains(std::move(lifted.domains));
    take_nested(std::move(lifted.nested));
    schemas = std::move(lifted.schemas);
    for (Schema& schema : schemas) complete_schema(schema);
    take_axioms(std::move(lifted.axioms));
    for (Schema& schema : schemas) mark_conditional(schema);
    find_constants();
    read_statics(static_rows, static_start);
}

void Task::take_domains(std::vector<std::vector<Object>>&& members) {
    for (std::vector<Object>& own : members) {
        Domain& domain = domains.emplace_back();
        domain.members = std::move(own);
        domain.allowed.assign(object_type.size(), 0);
        for (Object object : domain.members) {
            if (object < 0 || object >= objects()) throw std::invalid_argument("task: object of a domain out of range");
            domain.allowed[static_cast<std::size_t>(object)] = 1;
        }
        if (!strictly_ascending(domain.members))
            throw std::invalid_argument("task: objects of a domain are not ascending");
    }
    if (domains.empty() || domains.back().members.size() != object_type.size())
        throw std::invalid_argument("task: the last domain does not hold all objects");
}

void Task::complete_schema(Schema& schema) const {
    check_pattern(schema.pattern);
    const std::size_t parameters = schema.pattern.domains.size();
    schema.projected.assign(parameters, 0);
    for (const Effect& effect : schema.effects) {
        check_effect(effect);
        for (const Literal& literal : effect.adds)
            for (std::int32_t term : literal.terms)
                if (term >= 0 && static_cast<std::size_t>(term) < parameters)
                    schema.projected[static_cast<std::size_t>(term)] = 1;
    }
    schema.projects = std::find(schema.projected.begin(), schema.projected.end(), 0) != schema.projected.end();
}

// A nested condition may hold earlier ones, so none holds itself.
void Task::take_nested(std::vector<Nested>&& entries) {
    nested.reserve(entries.size());
    for (Nested& entry : entries) {
        if (entry.shared > entry.pattern.domains.size())
            throw std::invalid_argument("task: a nested condition shares more variables than it has");
        check_pattern(entry.pattern);
        entry.fluent = std::any_of(entry.pattern.literals.begin(), entry.pattern.literals.end(),
                                   [&](const Literal& literal) { return is_fluent(literal); });
        nested.push_back(std::move(entry));
    }
}

void Task::take_axioms(std::vector<Axiom>&& entries) {
    derived.assign(arity.size(), 0);
    axioms = std::move(entries);
    std::int32_t last = 0;
    for (Axiom& axiom : axioms) {
        if (axiom.stratum < last) throw std::invalid_argument("task: axioms are not ordered by stratum");
        last = axiom.stratum;
        Literal& head = axiom.head.at(0);
        if (head.predicate < 0 || head.predicate >= predicates() || !fluent[static_cast<std::size_t>(head.predicate)])
            throw std::invalid_argument("task: an axiom derives a predicate that is not fluent");
        derived[static_cast<std::size_t>(head.predicate)] = 1;
        check_pattern(axiom.body);
        for (std::int32_t i = 0; i < arity[static_cast<std::size_t>(head.predicate)]; ++i) head.terms.push_back(i);
        check_literal(head, axiom.body.domains.size());
        axiom.wanted.assign(axiom.body.domains.size(), 0);
        std::fill_n(axiom.wanted.begin(), head.terms.size(), std::uint8_t{1});
    }
    for (const Schema& schema : schemas)
        for (const Effect& effect : schema.effects)
            for (const auto* literals : {&effect.adds, &effect.deletes})
                for (const Literal& literal : *literals)
                    if (derived[static_cast<std::size_t>(literal.predicate)])
                        throw std::invalid_argument("task: an effect changes a derived predicate");
    find_strata();
}

void Task::find_strata() {
    for (std::size_t i = 0; i < axioms.size(); ++i) {
        if (i == 0 || axioms[i].stratum != axioms[i - 1].stratum)
            strata.push_back(
                {i, i, {}, std::vector<std::uint8_t>(arity.size(), 0), std::vector<std::uint8_t>(arity.size(), 0)});
        Stratum& stratum = strata.back();
        stratum.end = i + 1;
        mention(axioms[i].body, stratum.inputs);
        for (const Literal& literal : axioms[i].body.literals) {
            if (is_nested(literal))
                mention(nested_of(literal).pattern, stratum.filters);
            else if (literal.predicate >= 0 && !literal.positive)
                stratum.filters[static_cast<std::size_t>(literal.predicate)] = 1;
        }
        const std::int32_t predicate = axioms[i].head[0].predicate;
        if (std::find(stratum.predicates.begin(), stratum.predicates.end(), predicate) == stratum.predicates.end())
            stratum.predicates.push_back(predicate);
    }
    for (const Stratum& stratum : strata)
        for (std::size_t i = stratum.begin; i < stratum.end; ++i) {
            Axiom& axiom = axioms[i];
            auto is_own = [&](std::int32_t p) {
                return std::find(stratum.predicates.begin(), stratum.predicates.end(), p) != stratum.predicates.end();
            };
            for (const Literal& literal : axiom.body.literals) {
                if (!is_nested(literal)) {
                    axiom.recursive = axiom.recursive || is_own(literal.predicate);
                    continue;
                }
                std::vector<std::uint8_t> mentioned(arity.size(), 0);
                mention(nested_of(literal).pattern, mentioned);
                for (std::int32_t p : stratum.predicates)
                    if (mentioned[static_cast<std::size_t>(p)]) axiom.recursive_nested = true;
            }
        }
}

// Marks the predicates that a pattern mentions, at any depth.
void Task::mention(const Pattern& pattern, std::vector<std::uint8_t>& predicates) const {
    for (const Literal& literal : pattern.literals) {
        if (is_nested(literal))
            mention(nested_of(literal).pattern, predicates);
        else if (literal.predicate >= 0)
            predicates[static_cast<std::size_t>(literal.predicate)] = 1;
    }
}

// Joins from what a node changed suffice unless an effect has a condition, the precondition has a nested part that may
// change, or derived atoms depend on an effect.
void Task::mark_conditional(Schema& schema) const {
    for (const Literal& literal : schema.pattern.literals)
        if (is_nested(literal) && is_fluent(literal)) schema.conditional = true;
    for (const Effect& effect : schema.effects) {
        if (effect.when.domains.size() > schema.pattern.domains.size() || !effect.when.literals.empty())
            schema.conditional = true;
        for (const auto* literals : {&effect.adds, &effect.deletes})
            for (const Literal& literal : *literals)
                for (const Stratum& stratum : strata)
                    if (stratum.inputs[static_cast<std::size_t>(literal.predicate)]) schema.conditional = true;
    }
}

void Task::find_constants() {
    auto note = [&](const std::vector<Literal>& literals) {
        for (const Literal& literal : literals)
            for (std::int32_t term : literal.terms)
                if (term < 0) constants.push_back(~term);
    };
    for (const Schema& schema : schemas) {
        note(schema.pattern.literals);
        for (const Effect& effect : schema.effects) {
            note(effect.when.literals);
            note(effect.adds);
            note(effect.deletes);
        }
    }
    for (const Nested& entry : nested) note(entry.pattern.literals);
    for (const Axiom& axiom : axioms) note(axiom.body.literals);
    sort_unique(constants);
}

void Task::read_statics(std::span<const std::int32_t> rows, std::span<const std::int64_t> start) {
    if (start.size() != 2 * arity.size()) throw std::invalid_argument("task: static_start has the wrong length");
    statics.resize(arity.size());
    std::size_t total = 0;
    for (std::size_t p = 0; p < arity.size(); ++p) {
        Relation& relation = statics[p];
        relation.arity = arity[p];
        const auto begin = static_cast<std::size_t>(start[2 * p]);
        const auto count = static_cast<std::size_t>(start[2 * p + 1]);
        const std::int64_t values = saturating_product(std::max<std::int64_t>(0, start[2 * p + 1]), arity[p]);
        if (start[2 * p] < 0 || start[2 * p + 1] < 0 || begin > rows.size() ||
            values > static_cast<std::int64_t>(rows.size() - begin) || count > rows.size() + 1 ||
            (fluent[p] && count > 0))
            throw std::invalid_argument("task: static atoms out of range");
        const auto own = rows.subspan(begin, static_cast<std::size_t>(values));
        relation.size = static_cast<std::int32_t>(count);
        relation.rows.assign(own.begin(), own.end());
        for (Object object : relation.rows)
            if (object < 0 || object >= objects())
                throw std::invalid_argument("task: object of a static atom out of range");
        for (std::int32_t i = 1; i < relation.size; ++i)
            if (!std::lexicographical_compare(relation.row(i - 1), relation.row(i - 1) + arity[p], relation.row(i),
                                              relation.row(i) + arity[p]))
                throw std::invalid_argument("task: static atoms are not sorted");
        relation.build(objects());
        total += count;
    }
    static_codes_ = KeyNumbers(total);
    for (std::int32_t p = 0; p < predicates(); ++p) {
        const Relation& relation = statics[static_cast<std::size_t>(p)];
        for (std::int32_t i = 0; i < relation.size; ++i) static_codes_.number(encode(p, relation.row(i)));
    }
}

// Every predicate must have as many codes as ground atoms, so that any code within the offsets decodes to objects.
void Task::check_atoms() const {
    if (fluent.size() != arity.size() || code_offset.size() != arity.size() + 1 || code_offset.front() != 0)
        throw std::invalid_argument("task: arrays of the predicates have different lengths");
    if (object_type.size() > static_cast<std::size_t>(std::numeric_limits<Object>::max()))
        throw std::invalid_argument("task: too many objects");
    for (std::size_t p = 0; p < arity.size(); ++p) {
        if (arity[p] < 0 || arity[p] > static_cast<std::int32_t>(kMaxVariables))
            throw std::invalid_argument("task: arity out of range");
        std::int64_t atoms = 1;
        for (std::int32_t i = 0; i < arity[p]; ++i) atoms = saturating_product(atoms, objects());
        if (atoms >= kMany || code_offset[p] >= kMany - atoms || code_offset[p + 1] != code_offset[p] + atoms)
            throw std::invalid_argument("task: code offsets do not fit the arities");
    }
}

void Task::check_literal(const Literal& literal, std::size_t variables) const {
    if (literal.predicate >= predicates() || kNested - literal.predicate >= static_cast<std::int64_t>(nested.size()))
        throw std::invalid_argument("literal: predicate out of range");
    if (is_nested(literal) && literal.positive) throw std::invalid_argument("literal: a nested condition is positive");
    const std::size_t wanted = literal.predicate == kEquality ? 2
                               : is_nested(literal)
                                   ? nested_of(literal).shared
                                   : static_cast<std::size_t>(arity[static_cast<std::size_t>(literal.predicate)]);
    if (literal.terms.size() != wanted) throw std::invalid_argument("literal: wrong number of terms");
    for (std::int32_t term : literal.terms)
        if (term >= 0 ? static_cast<std::size_t>(term) >= variables : ~term >= objects())
            throw std::invalid_argument("literal: term out of range");
}

void Task::check_pattern(const Pattern& pattern) const {
    if (pattern.domains.size() > kMaxVariables) throw std::invalid_argument("pattern: too many variables");
    for (std::int32_t domain : pattern.domains)
        if (domain < 0 || static_cast<std::size_t>(domain) >= domains.size())
            throw std::invalid_argument("pattern: domain out of range");
    for (const Literal& literal : pattern.literals) check_literal(literal, pattern.domains.size());
}

void Task::check_effect(const Effect& effect) const {
    check_pattern(effect.when);
    for (const auto* literals : {&effect.adds, &effect.deletes})
        for (const Literal& literal : *literals) {
            check_literal(literal, effect.when.domains.size());
            if (literal.predicate < 0 || !fluent[static_cast<std::size_t>(literal.predicate)])
                throw std::invalid_argument("task: an effect changes a predicate that is not fluent");
        }
}

void Task::check_state(std::span<const Code> state) const {
    if (!strictly_ascending(state)) throw std::invalid_argument("codes of a state are not strictly ascending");
    check_codes(state);
    for (std::size_t p = 0; p < arity.size(); ++p) {
        if (fluent[p]) continue;
        const auto first = std::lower_bound(state.begin(), state.end(), code_offset[p]);
        if (first != state.end() && *first < code_offset[p + 1])
            throw std::invalid_argument("codes of a state belong to a static predicate");
    }
}

void Task::check_codes(std::span<const Code> codes) const {
    if (std::adjacent_find(codes.begin(), codes.end(), std::greater_equal<>()) != codes.end())
        throw std::invalid_argument("codes are not sorted, or repeated");
    if (!codes.empty() && (codes.front() < 0 || codes.back() >= code_offset.back()))
        throw std::invalid_argument("codes do not belong to this task");
}

void Task::check_schema(std::int32_t schema) const {
    if (schema < 0 || static_cast<std::size_t>(schema) >= schemas.size())
        throw std::invalid_argument("schema out of range");
}

void Task::check_action(std::int32_t schema, std::span<const Object> arguments) const {
    check_schema(schema);
    if (arguments.size() != schemas[static_cast<std::size_t>(schema)].pattern.domains.size())
        throw std::invalid_argument("action: wrong number of arguments");
    for (Object object : arguments)
        if (object < 0 || object >= objects()) throw std::invalid_argument("action: object out of range");
}

std::int32_t Task::decode(Code code, Object* arguments) const {
    const auto after = std::upper_bound(code_offset.begin(), code_offset.end(), code);
    const auto predicate = static_cast<std::int32_t>(after - code_offset.begin()) - 1;
    Code rest = code - code_offset[static_cast<std::size_t>(predicate)];
    for (std::int32_t i = arity[static_cast<std::size_t>(predicate)]; i-- > 0;) {
        arguments[i] = static_cast<Object>(rest % objects());
        rest /= objects();
    }
    return predicate;
}

}  // namespace saltus

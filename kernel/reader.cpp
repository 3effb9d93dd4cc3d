#include "reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "keys.hpp"

namespace saltus {

namespace {

enum Kind : std::uint8_t { bad, space, open, close, comment, name };

// Names are printable ASCII without PDDL's own characters and without quotes, on which planners disagree.
constexpr std::array<Kind, 256> kinds() {
    std::array<Kind, 256> table{};
    for (int c = 0; c < 256; ++c) table[static_cast<std::size_t>(c)] = (c > 32 && c < 127) ? name : bad;
    for (char c : {' ', '\t', '\n', '\r', '\f', '\v'}) table[static_cast<unsigned char>(c)] = space;
    for (char c : {'"', '\'', '`', ',', '\\', '{', '}'}) table[static_cast<unsigned char>(c)] = bad;
    table['('] = open;
    table[')'] = close;
    table[';'] = comment;
    return table;
}

constexpr std::array<Kind, 256> kKinds = kinds();

Kind kind_of(char c) { return kKinds[static_cast<unsigned char>(c)]; }

std::size_t name_end(std::string_view text, std::size_t i) {
    while (i < text.size() && kind_of(text[i]) == name) ++i;
    return i;
}

std::size_t line_end(std::string_view text, std::size_t i) {
    const void* found = std::memchr(text.data() + i, '\n', text.size() - i);
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : text.size();
}

// Number of tokens, so that the arrays are allocated once: doubling them would cost a third of the peak memory.
std::size_t count_tokens(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size();) {
        switch (kind_of(text[i])) {
            case open:
            case close:
                ++count;
                ++i;
                break;
            case name:
                ++count;
                i = name_end(text, i);
                break;
            case comment: i = line_end(text, i); break;
            default: ++i; break;
        }
    }
    return count;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Interned lower-case names.
class SymbolTable {
public:
    explicit SymbolTable(std::vector<std::string>& symbols) : symbols_(symbols) {}

    std::int32_t intern(std::string_view text) {
        name_ = text;
        std::uint64_t hash = 1469598103934665603ULL;
        for (char& c : name_) {
            c = lower(c);
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        }
        for (;; hash = mix(hash + 1)) {
            const std::int32_t number = numbers_.number(static_cast<std::int64_t>(hash));
            const auto at = static_cast<std::size_t>(number);
            if (at == symbols_.size()) symbols_.push_back(name_);
            if (symbols_[at] == name_) return number;
        }
    }

private:
    std::vector<std::string>& symbols_;
    KeyNumbers numbers_;  // by hash
    std::string name_;
};

}  // namespace

Tokens scan(std::string_view text, std::uint32_t max_nesting) {
    Tokens result;
    auto fail = [&](ScanError error, std::size_t at) {
        result.error = error;
        result.error_offset = at;
        result.token = {};
        result.offset = {};
        result.symbols = {};
    };
    const std::size_t count = count_tokens(text);
    result.token.reserve(count);
    result.offset.reserve(count);
    SymbolTable table(result.symbols);
    std::vector<std::uint32_t> opened;
    std::size_t i = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;  // skip a byte order mark
    while (i < text.size()) {
        switch (kind_of(text[i])) {
            case space: ++i; break;
            case comment: i = line_end(text, i); break;
            case open:
                if (opened.empty() && !result.token.empty()) return fail(ScanError::second, i), result;
                if (opened.size() >= max_nesting) return fail(ScanError::nesting, i), result;
                opened.push_back(static_cast<std::uint32_t>(result.token.size()));
                result.token.push_back(0);
                result.offset.push_back(static_cast<std::uint32_t>(i++));
                break;
            case close:
                if (opened.empty()) return fail(ScanError::extra_close, i), result;
                result.token[opened.back()] = ~static_cast<std::int32_t>(result.token.size());
                opened.pop_back();
                result.token.push_back(kClose);
                result.offset.push_back(static_cast<std::uint32_t>(i++));
                break;
            case name: {
                if (opened.empty()) return fail(ScanError::outside, i), result;
                std::size_t end = name_end(text, i);
                result.token.push_back(table.intern(text.substr(i, end - i)));
                result.offset.push_back(static_cast<std::uint32_t>(i));
                i = end;
                break;
            }
            case bad: return fail(ScanError::character, i), result;
        }
    }
    if (!opened.empty()) return fail(ScanError::unclosed, result.offset[opened.back()]), result;
    if (result.token.empty()) fail(ScanError::empty, 0);
    return result;
}

namespace {

// Set of the atoms read so far, by index into the growing result.
class AtomSet {
public:
    explicit AtomSet(const Atoms& atoms) : atoms_(atoms) {}

    // Whether the atom just appended as number `index`, with arguments from `start` on, is new; if not, it is not kept.
    bool insert(std::int32_t index, std::size_t start) {
        starts_.push_back(start);
        auto hash = static_cast<std::uint64_t>(predicate(index));
        for (const std::int32_t object : arguments(index)) hash = join(hash, static_cast<std::uint64_t>(object));
        for (;; hash = mix(hash + 1)) {
            const std::int32_t number = numbers_.number(static_cast<std::int64_t>(hash));
            if (number == index) return true;
            if (predicate(number) != predicate(index) || !std::ranges::equal(arguments(number), arguments(index)))
                continue;
            starts_.pop_back();
            return false;
        }
    }

private:
    std::int32_t predicate(std::int32_t index) const { return atoms_.predicate[static_cast<std::size_t>(index)]; }
    std::span<const std::int32_t> arguments(std::int32_t index) const {
        const auto at = static_cast<std::size_t>(index);
        const std::size_t end = at + 1 < starts_.size() ? starts_[at + 1] : atoms_.argument.size();
        return std::span(atoms_.argument).subspan(starts_[at], end - starts_[at]);
    }

    const Atoms& atoms_;
    std::vector<std::size_t> starts_;
    KeyNumbers numbers_;  // by hash
};

}  // namespace

void AtomTables::check() const {
    const auto below = [](std::span<const std::int32_t> values, std::size_t size) {
        return std::all_of(values.begin(), values.end(),
                           [&](std::int32_t value) { return value < 0 || static_cast<std::size_t>(value) < size; });
    };
    bool sound = types >= 0 && predicate_of_symbol.size() == object_of_symbol.size() &&
                 arity.size() == first_slot.size() && below(predicate_of_symbol, arity.size()) &&
                 below(object_of_symbol, object_type.size()) &&
                 below(object_type, static_cast<std::size_t>(std::max(0, types))) &&
                 std::all_of(object_type.begin(), object_type.end(), [](std::int32_t type) { return type >= 0; });
    for (std::size_t p = 0; p < arity.size() && sound; ++p) {
        const std::uint64_t slots = static_cast<std::uint64_t>(first_slot[p]) + static_cast<std::uint64_t>(arity[p]);
        sound = arity[p] >= 0 && first_slot[p] >= 0 && slots * static_cast<std::uint64_t>(types) <= allowed.size();
    }
    if (!sound) throw std::invalid_argument("read_atoms: tables do not fit each other");
}

Atoms read_atoms(std::span<const std::int32_t> token, std::int32_t begin, std::int32_t end, const AtomTables& tables) {
    Atoms result;
    AtomSet seen(result);
    auto at = [&](std::int32_t i) { return token[static_cast<std::size_t>(i)]; };
    // Appends the arguments of the atom in tokens (i, stop) to the result; false if it is not well formed.
    auto read = [&](std::int32_t i, std::int32_t stop, std::int32_t predicate) {
        const std::int32_t arity = tables.arity[static_cast<std::size_t>(predicate)];
        if (stop - i - 2 != arity) return false;
        for (std::int32_t k = 0; k < arity; ++k) {
            const std::int32_t symbol = at(i + 2 + k);
            if (symbol < 0) return false;
            if (static_cast<std::size_t>(symbol) >= tables.object_of_symbol.size())
                throw std::invalid_argument("read_atoms: unknown symbol");
            const std::int32_t object = tables.object_of_symbol[static_cast<std::size_t>(symbol)];
            if (object < 0) return false;
            const auto slot = static_cast<std::size_t>(tables.first_slot[static_cast<std::size_t>(predicate)] + k);
            const auto type = static_cast<std::size_t>(tables.object_type[static_cast<std::size_t>(object)]);
            if (!tables.allowed[slot * static_cast<std::size_t>(tables.types) + type]) return false;
            result.argument.push_back(object);
        }
        return true;
    };
    for (std::int32_t i = begin; i < end; i = ~at(i) + 1) {
        result.refused = i;
        if (at(i) >= kClose) return result;  // a word
        if (~at(i) <= i || ~at(i) >= end) throw std::invalid_argument("read_atoms: a list ends outside of the range");
        if (at(i + 1) < 0) return result;  // an empty list, or a list instead of a predicate
        if (static_cast<std::size_t>(at(i + 1)) >= tables.predicate_of_symbol.size())
            throw std::invalid_argument("read_atoms: unknown symbol");
        const std::int32_t predicate = tables.predicate_of_symbol[static_cast<std::size_t>(at(i + 1))];
        if (predicate == kSpecialHead) {
            result.special.push_back(i);
            continue;
        }
        const std::size_t start = result.argument.size();
        if (predicate < 0 || !read(i, ~at(i), predicate)) {
            result.argument.resize(start);
            return result;
        }
        result.predicate.push_back(predicate);
        if (!seen.insert(static_cast<std::int32_t>(result.predicate.size() - 1), start)) {
            result.duplicate.push_back(i);
            result.predicate.pop_back();
            result.argument.resize(start);
        }
    }
    result.refused = -1;
    return result;
}

}  // namespace saltus

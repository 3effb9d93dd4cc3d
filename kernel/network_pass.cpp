#include "network_pass.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

namespace {

constexpr std::int64_t kWorthThreads = 1 << 14;  // messages of a layer below which one thread is as fast
constexpr std::int64_t kMessageFloats =
    1 << 22;  // most messages in memory at a time with threads, unless a piece has more
constexpr std::int64_t kTilesPerTask = 4;
constexpr std::int64_t kRangesPerThread = 2;  // every range reads all targets: few of them

}  // namespace

NodeRanges::NodeRanges(std::span<const std::int32_t> targets, std::int64_t nodes, std::int32_t threads)
    : degree_(static_cast<std::size_t>(nodes), 0), first_{0} {
    const auto slots = static_cast<std::int64_t>(targets.size());
    if (slots >= kWorthThreads)
        threads_ = static_cast<std::int32_t>(useful_threads(static_cast<std::size_t>(std::max(1, threads))));
    for (const std::int32_t node : targets) ++degree_[static_cast<std::size_t>(node)];
    const std::int64_t ranges = threads_ > 1 ? kRangesPerThread * threads_ : 1;
    std::int64_t passed = 0;
    for (std::int32_t node = 0; node < nodes; ++node) {
        passed += degree_[static_cast<std::size_t>(node)];
        const auto wanted = static_cast<std::int64_t>(first_.size());
        if (wanted < ranges && passed * ranges >= wanted * slots) first_.push_back(node + 1);
    }
    first_.push_back(static_cast<std::int32_t>(nodes));
}

TileRunner::TileRunner(const Loops& loops, const Perceptron& network)
    : loops_(loops), network_(network), hidden_(kTileRows * network.first().outputs) {
    if (network.maps.size() > 2) other_ = Floats(hidden_.size());
}

void TileRunner::run(std::span<const Rows> parts, std::int64_t rows, float* output) {
    const Linear& first = network_.first();
    const std::int64_t inputs = first.inputs / static_cast<std::int64_t>(parts.size());
    const float* weight = first.weight.data();
    const float* bias = first.bias.data();
    for (const Rows& part : parts) {
        loops_.multiply(part, rows, inputs, weight, first.outputs, bias, hidden());
        weight += inputs * first.outputs;
        bias = nullptr;
    }
    loops_.mish(hidden(), rows * first.outputs);
    finish(rows, output);
}

void TileRunner::finish(std::int64_t rows, float* output) {
    for (std::size_t i = 1; i + 1 < network_.maps.size(); ++i) {
        const Linear& map = network_.maps[i];
        loops_.multiply({hidden(), map.inputs, nullptr, 0}, rows, map.inputs, map.weight.data(), map.outputs,
                        map.bias.data(), other_.data());
        std::swap(hidden_, other_);
        loops_.mish(hidden(), rows * map.outputs);
    }
    const Linear& last = network_.last();
    loops_.multiply({hidden(), last.inputs, nullptr, 0}, rows, last.inputs, last.weight.data(), last.outputs,
                    last.bias.data(), output);
}

MessagePassing::MessagePassing(const NetworkShape& shape, const NetworkWeights& weights, const Loops& loops,
                               const NetworkBatch& batch, std::int32_t threads)
    : shape_(shape),
      weights_(weights),
      loops_(loops),
      batch_(batch),
      width_(padded(shape.embedding)),
      ranges_(batch.arguments, batch.nodes(), threads),
      threads_(ranges_.threads()) {
    const auto slots = static_cast<std::int64_t>(batch.arguments.size());
    const std::int64_t nodes = batch.nodes();
    std::vector<std::int32_t> stamp(static_cast<std::size_t>(nodes), -1);
    for (std::size_t i = 0; i < shape.arity.size(); ++i) add_relation(i, stamp);
    std::int64_t table = 0;
    std::int64_t most = 0;
    std::int64_t widest = 0;
    for (Relation& relation : relations_) {
        relation.table = threads_ > 1 ? table : 0;  // one thread makes the tables of one relation after the other
        table += relation.table_rows * relation.hidden;
        most = std::max(most, relation.table_rows * relation.hidden);
        widest = std::max({widest, relation.width, relation.hidden});
    }
    tables_ = Floats(threads_ > 1 ? table : most);
    zeros_ = Floats(widest, 0);
    x_ = Floats(nodes * width_, 0);
    states_ = Floats(2 * nodes * width_);
    for (std::int64_t node = 0; node < nodes; ++node) {
        float* state = states_.data() + 2 * node * width_;
        std::fill(state, state + width_, kNoMessage);
        std::fill(state + width_, state + 2 * width_, 0.0F);
    }
    if (threads_ > 1)
        messages_ = Floats(std::min(slots * width_, std::max(kMessageFloats, kTilesPerTask * kTileRows * widest)));
}

// `stamp` holds -1 for every node, before and after.
void MessagePassing::add_relation(std::size_t number, std::vector<std::int32_t>& stamp) {
    const std::int64_t first = batch_.argument_offset[number];
    const std::int64_t slots = batch_.argument_offset[number + 1] - first;
    if (slots == 0) return;
    Relation relation;
    relation.network = &weights_.messages[number];
    relation.arity = shape_.arity[number];
    relation.atoms = slots / relation.arity;
    relation.width = relation.arity * width_;
    relation.hidden = relation.network->first().outputs;
    relation.arguments = batch_.arguments.data() + first;
    relation.place.assign(relation.arguments, relation.arguments + slots);
    relation.positions.resize(static_cast<std::size_t>(relation.arity));
    relation.first_tile = table_tiles_.size();
    for (std::int64_t p = 0; p < relation.arity; ++p) {
        Position& position = relation.positions[static_cast<std::size_t>(p)];
        for (std::int64_t i = p; i < slots; i += relation.arity) {
            std::int32_t& known = stamp[static_cast<std::size_t>(relation.arguments[i])];
            if (known < 0) {
                known = static_cast<std::int32_t>(position.nodes.size());
                position.nodes.push_back(relation.arguments[i]);
            }
            relation.place[static_cast<std::size_t>(i)] = known;
        }
        for (const std::int32_t node : position.nodes) stamp[static_cast<std::size_t>(node)] = -1;
        if (4 * static_cast<std::int64_t>(position.nodes.size()) > 3 * relation.atoms) {
            position.nodes.clear();
            for (std::int64_t i = p; i < slots; i += relation.arity)
                relation.place[static_cast<std::size_t>(i)] = relation.arguments[i];
        }
        if (position.is_shared() && relation.biased < 0) relation.biased = p;
        for (std::int64_t tile = 0; tile < tile_count(static_cast<std::int64_t>(position.nodes.size())); ++tile)
            table_tiles_.push_back({relations_.size(), p, tile * kTileRows});
        position.table = relation.table_rows;
        relation.table_rows += tile_count(static_cast<std::int64_t>(position.nodes.size())) * kTileRows;
    }
    relation.end_tile = table_tiles_.size();
    relations_.push_back(std::move(relation));
}

const Floats& MessagePassing::run(std::int64_t layers) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        messages(layer);
        update();
    }
    return x_;
}

void MessagePassing::messages(std::int64_t layer) {
    if (layer == 0) return first_messages();
    // Once most embeddings are different, they stay so.
    if (layer == 1 || !equal_.group.empty()) equal_ = find_equal_rows(x_.data(), batch_.nodes(), width_);
    if (threads_ > 1) return messages_on_threads();
    for (const Relation& relation : relations_) {
        const DistinctAtoms distinct = distinct_atoms(relation);
        if (distinct.first.empty()) {
            relation_messages(relation);
        } else {
            make_tables(relation.first_tile, relation.end_tile);
            distinct_messages(relation, distinct);
        }
    }
}

// All embeddings are 0: the first hidden layer is Mish of its bias.
void MessagePassing::first_messages() {
    std::vector<Floats> outputs;
    outputs.reserve(relations_.size());
    for (const Relation& relation : relations_) {
        TileRunner runner(loops_, *relation.network);
        outputs.emplace_back(kTileRows * relation.width);
        const Rows bias{relation.network->first().bias.data(), 0, nullptr, 0};
        loops_.add_rows(&bias, 1, 1, relation.hidden, true, runner.hidden());
        runner.finish(1, outputs.back().data());
    }
    ranges_.for_each([&](std::int32_t first, std::int32_t end) {
        for (std::size_t i = 0; i < relations_.size(); ++i) {
            const Relation& relation = relations_[i];
            loops_.collect({outputs[i].data(), 0, nullptr, relation.arguments, relation.atoms, relation.arity, width_},
                           shape_.sharpness, first, end, states_.data());
        }
    });
}

void MessagePassing::make_tables(std::size_t first, std::size_t end) {
    for_all(static_cast<std::int64_t>(end - first), threads_, [&](std::int64_t number) {
        const TableTile& tile = table_tiles_[first + static_cast<std::size_t>(number)];
        const Relation& relation = relations_[tile.relation];
        const Position& position = relation.positions[static_cast<std::size_t>(tile.position)];
        const std::int64_t rows = std::min(kTileRows, static_cast<std::int64_t>(position.nodes.size()) - tile.first);
        const Linear& map = relation.network->first();
        float* table = tables_.data() + relation.table + (position.table + tile.first) * relation.hidden;
        loops_.multiply({x_.data(), width_, position.nodes.data() + tile.first, 1}, rows, width_,
                        map.weight.data() + tile.position * width_ * relation.hidden, relation.hidden, zeros_.data(),
                        table);
        if (tile.position != relation.biased) return;
        const Rows parts[] = {{map.bias.data(), 0, nullptr, 0}, {table, relation.hidden, nullptr, 0}};
        loops_.add_rows(parts, 2, rows, relation.hidden, false, table);
    });
}

// Messages, without the residual, of up to kTileRows atoms with arguments `place`.
void MessagePassing::make_messages(const Relation& relation, const std::int32_t* place, std::int64_t rows,
                                   TileRunner& runner, float* output) const {
    const Linear& map = relation.network->first();
    std::vector<Rows> parts;
    parts.reserve(relation.positions.size());
    for (std::int64_t p = 0; p < relation.arity; ++p) {
        const Position& position = relation.positions[static_cast<std::size_t>(p)];
        if (position.is_shared())
            parts.push_back({tables_.data() + relation.table + position.table * relation.hidden, relation.hidden,
                             place + p, relation.arity});
    }
    const bool all = parts.size() == relation.positions.size();
    if (!parts.empty())
        loops_.add_rows(parts.data(), static_cast<std::int64_t>(parts.size()), rows, relation.hidden, all,
                        runner.hidden());
    if (!all) {
        const float* bias = parts.empty() ? map.bias.data() : nullptr;
        for (std::int64_t p = 0; p < relation.arity; ++p) {
            if (relation.positions[static_cast<std::size_t>(p)].is_shared()) continue;
            loops_.multiply({x_.data(), width_, place + p, relation.arity}, rows, width_,
                            map.weight.data() + p * width_ * relation.hidden, relation.hidden, bias, runner.hidden());
            bias = nullptr;
        }
        loops_.mish(runner.hidden(), rows * relation.hidden);
    }
    runner.finish(rows, output);
}

void MessagePassing::relation_messages(const Relation& relation) {
    make_tables(relation.first_tile, relation.end_tile);
    TileRunner runner(loops_, *relation.network);
    Floats output(kTileRows * relation.width);
    for_all(tile_count(relation.atoms), 1, [&](std::int64_t tile) {
        const std::int64_t first = tile * kTileRows;
        const std::int64_t rows = tile_rows(relation.atoms, tile);
        make_messages(relation, relation.place.data() + first * relation.arity, rows, runner, output.data());
        loops_.collect({output.data(), relation.width, nullptr, relation.arguments + first * relation.arity, rows,
                        relation.arity, width_},
                       shape_.sharpness, 0, batch_.nodes(), states_.data());
    });
}

// Atoms that send different messages, if much fewer than all.
DistinctAtoms MessagePassing::distinct_atoms(const Relation& relation) const {
    if (equal_.group.empty()) return {};
    return find_distinct_atoms(equal_, {relation.arguments, static_cast<std::size_t>(relation.atoms * relation.arity)},
                               relation.arity, std::min(relation.atoms / 2, kMessageFloats / relation.width));
}

// Messages of the first atom of every class, for all. The relation's tables are made.
void MessagePassing::distinct_messages(const Relation& relation, const DistinctAtoms& distinct) {
    const auto count = static_cast<std::int64_t>(distinct.first.size());
    Floats output(tile_count(count) * kTileRows * relation.width);
    for_all(tile_count(count), threads_, [&](std::int64_t tile) {
        const std::int64_t first = tile * kTileRows;
        const std::int64_t rows = tile_rows(count, tile);
        std::vector<std::int32_t> place;
        for (std::int64_t row = first; row < first + rows; ++row) {
            const std::int64_t atom = distinct.first[static_cast<std::size_t>(row)];
            place.insert(place.end(), relation.place.begin() + atom * relation.arity,
                         relation.place.begin() + (atom + 1) * relation.arity);
        }
        TileRunner runner(loops_, *relation.network);
        make_messages(relation, place.data(), rows, runner, output.data() + first * relation.width);
    });
    ranges_.for_each([&](std::int32_t first, std::int32_t end) {
        loops_.collect({output.data(), relation.width, distinct.number.data(), relation.arguments, relation.atoms,
                        relation.arity, width_},
                       shape_.sharpness, first, end, states_.data());
    });
}

// Every thread makes the messages of some atoms, then collects those to some nodes, in the order of one thread.
void MessagePassing::messages_on_threads() {
    make_tables(0, table_tiles_.size());
    std::vector<Piece> pieces;
    std::int64_t used = 0;
    for (const Relation& relation : relations_) {
        if (const DistinctAtoms distinct = distinct_atoms(relation); !distinct.first.empty()) {
            pieces_on_threads(pieces);
            pieces.clear();
            used = 0;
            distinct_messages(relation, distinct);
            continue;
        }
        const std::int64_t step = kTilesPerTask * kTileRows;
        for (std::int64_t first = 0; first < relation.atoms; first += step) {
            const std::int64_t end = std::min(first + step, relation.atoms);
            const std::int64_t wanted = (end - first) * relation.width;
            if (!pieces.empty() && used + wanted > kMessageFloats) {
                pieces_on_threads(pieces);
                pieces.clear();
                used = 0;
            }
            pieces.push_back({&relation, first, end, used});
            used += wanted;
        }
    }
    pieces_on_threads(pieces);
}

void MessagePassing::pieces_on_threads(std::span<const Piece> pieces) {
    for_all(static_cast<std::int64_t>(pieces.size()), threads_, [&](std::int64_t number) {
        const Piece& piece = pieces[static_cast<std::size_t>(number)];
        const Relation& relation = *piece.relation;
        TileRunner runner(loops_, *relation.network);
        Floats output(kTileRows * relation.width);
        float* to = messages_.data() + piece.message;
        for (std::int64_t first = piece.first; first < piece.end; first += kTileRows) {
            const std::int64_t rows = std::min(kTileRows, piece.end - first);
            make_messages(relation, relation.place.data() + first * relation.arity, rows, runner, output.data());
            to = std::copy(output.data(), output.data() + rows * relation.width, to);
        }
    });
    ranges_.for_each([&](std::int32_t first, std::int32_t end) {
        for (const Piece& piece : pieces) {
            const Relation& relation = *piece.relation;
            loops_.collect(
                {messages_.data() + piece.message, relation.width, nullptr,
                 relation.arguments + piece.first * relation.arity, piece.end - piece.first, relation.arity, width_},
                shape_.sharpness, first, end, states_.data());
        }
    });
}

void MessagePassing::update() {
    const std::int64_t nodes = batch_.nodes();
    const std::int64_t tiles = tile_count(nodes);
    for_all((tiles + kTilesPerTask - 1) / kTilesPerTask, threads_, [&](std::int64_t task) {
        TileRunner runner(loops_, weights_.update);
        Floats joined(kTileRows * width_);
        Floats change(kTileRows * width_);
        for (std::int64_t tile = task * kTilesPerTask; tile < std::min(tiles, (task + 1) * kTilesPerTask); ++tile) {
            const std::int64_t first = tile * kTileRows;
            const std::int64_t rows = tile_rows(nodes, tile);
            float* x = x_.data() + first * width_;
            loops_.join(states_.data() + 2 * first * width_, x, ranges_.degree() + first, rows, width_,
                        shape_.sharpness, joined.data());
            const Rows parts[] = {{x, width_, nullptr, 0}, {joined.data(), width_, nullptr, 0}};
            runner.run(parts, rows, change.data());
            loops_.add_normed(change.data(), weights_.scale.data(), weights_.shift.data(), rows, width_,
                              shape_.embedding, x);
        }
    });
}

}  // namespace saltus

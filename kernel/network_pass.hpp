// Network pass: message passing on one batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "interrupt.hpp"
#include "network.hpp"
#include "network_equal_rows.hpp"
#include "parallel.hpp"

namespace saltus {

// Calls body(i) for every i below `count`, on several threads if there are, and listens to interrupts.
template <typename Body>
void for_all(std::int64_t count, std::int32_t threads, Body&& body) {
    if (threads > 1 && count > 1) {
        run_parallel(static_cast<std::size_t>(count), static_cast<std::size_t>(threads),
                     [&](std::size_t i) { body(static_cast<std::int64_t>(i)); });
    } else {
        for (std::int64_t i = 0; i < count; ++i) body(i);
    }
    if (Interrupt* interrupt = Interrupt::current()) interrupt->check();
}

inline std::int64_t tile_count(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }
inline std::int64_t tile_rows(std::int64_t rows, std::int64_t tile) {
    return std::min(kTileRows, rows - tile * kTileRows);
}

// The nodes of a batch in ranges with about the same number of messages.
class NodeRanges {
public:
    NodeRanges() = default;
    // `targets` has the node of every message.
    NodeRanges(std::span<const std::int32_t> targets, std::int64_t nodes, std::int32_t threads);

    // How many of the threads are worth starting; few messages need only one.
    std::int32_t threads() const { return threads_; }
    // [nodes]: number of messages.
    const std::int32_t* degree() const { return degree_.data(); }
    // Calls body(first, end) for all ranges, in parallel. So one thread sees a node's messages, in order.
    template <typename Body>
    void for_each(Body&& body) const {
        for_all(static_cast<std::int64_t>(first_.size()) - 1, threads_, [&](std::int64_t i) {
            body(first_[static_cast<std::size_t>(i)], first_[static_cast<std::size_t>(i) + 1]);
        });
    }

private:
    std::vector<std::int32_t> degree_;
    std::vector<std::int32_t> first_;  // node of every range, and the end
    std::int32_t threads_ = 1;
};

// A perceptron applied to tiles of rows; one per thread.
class TileRunner {
public:
    TileRunner(const Loops& loops, const Perceptron& network);

    // output [rows, outputs] for up to kTileRows rows, whose inputs are the rows of the parts side by side. The output
    // has room for kTileRows rows.
    void run(std::span<const Rows> parts, std::int64_t rows, float* output);

    // The same from the first hidden layer, which the caller has written to hidden(), after Mish.
    void finish(std::int64_t rows, float* output);

    float* hidden() { return hidden_.data(); }

private:
    const Loops& loops_;
    const Perceptron& network_;
    Floats hidden_;
    Floats other_;
};

class MessagePassing {
public:
    MessagePassing(const NetworkShape& shape, const NetworkWeights& weights, const Loops& loops,
                   const NetworkBatch& batch, std::int32_t threads);

    // Embeddings [nodes, padded embedding] after some layers.
    const Floats& run(std::int64_t layers);

private:
    // Nodes that occur at one position of a relation's atoms, if much fewer than the atoms; otherwise empty.
    struct Position {
        std::vector<std::int32_t> nodes;
        std::int64_t table = 0;  // first row of theirs among all of the relation's tables

        bool is_shared() const { return !nodes.empty(); }
    };
    struct Relation {
        const Perceptron* network = nullptr;
        std::int64_t arity = 0;
        std::int64_t atoms = 0;
        std::int64_t width = 0;                   // of an atom's messages
        std::int64_t hidden = 0;                  // of the hidden layer
        const std::int32_t* arguments = nullptr;  // [atoms, arity]
        std::vector<std::int32_t> place;          // the same, with the number in Position::nodes where they are shared
        std::vector<Position> positions;
        std::int64_t biased = -1;  // the first shared position: the first map's bias is added to its table
        std::int64_t table_rows = 0;
        std::int64_t table = 0;      // first float of its tables
        std::size_t first_tile = 0;  // its table tiles
        std::size_t end_tile = 0;
    };
    // Up to kTileRows nodes at a position of a relation.
    struct TableTile {
        std::size_t relation;
        std::int64_t position;
        std::int64_t first;
    };
    // Consecutive atoms of a relation whose messages are in memory at the same time.
    struct Piece {
        const Relation* relation;
        std::int64_t first;
        std::int64_t end;
        std::int64_t message;  // first float of its messages
    };

    void add_relation(std::size_t number, std::vector<std::int32_t>& stamp);
    void make_tables(std::size_t first, std::size_t end);
    void make_messages(const Relation& relation, const std::int32_t* place, std::int64_t rows, TileRunner& runner,
                       float* output) const;
    void first_messages();
    void messages(std::int64_t layer);
    void relation_messages(const Relation& relation);
    DistinctAtoms distinct_atoms(const Relation& relation) const;
    void distinct_messages(const Relation& relation, const DistinctAtoms& distinct);
    void messages_on_threads();
    void pieces_on_threads(std::span<const Piece> pieces);
    void update();

    const NetworkShape& shape_;
    const NetworkWeights& weights_;
    const Loops& loops_;
    const NetworkBatch& batch_;
    std::int64_t width_;  // padded embedding
    NodeRanges ranges_;
    std::int32_t threads_;
    std::vector<Relation> relations_;
    std::vector<TableTile> table_tiles_;
    EqualRows equal_;  // of x_, as long as many are
    Floats x_;
    Floats states_;
    Floats tables_;
    Floats zeros_;
    Floats messages_;
};

}  // namespace saltus

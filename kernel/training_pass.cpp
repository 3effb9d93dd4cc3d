#include "training_pass.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace saltus {

namespace {

constexpr std::int64_t kChunkRows = 8 * kTileRows;

// Makes room for so many floats; what was there may be lost.
void make_room(Floats& floats, std::int64_t count) {
    if (floats.size() < count) floats = Floats(count + count / 4);
}

void fill(Floats& floats, std::int64_t count, float value) {
    make_room(floats, count);
    std::fill(floats.data(), floats.data() + count, value);
}

void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
    constexpr std::int64_t kBlock = 16;  // of columns: what is written stays in the cache
    for (std::int64_t first = 0; first < columns; first += kBlock)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = first; column < std::min(columns, first + kBlock); ++column)
                to[column * rows + row] = from[row * columns + column];
}

// Gradients of two linear maps with biases, one after the other.
struct Partial {
    float* weight1;
    float* bias1;
    float* weight2;
    float* bias2;
    float* end;

    Partial(float* start, std::int64_t inputs, std::int64_t hidden, std::int64_t outputs)
        : weight1(start),
          bias1(weight1 + inputs * hidden),
          weight2(bias1 + hidden),
          bias2(weight2 + hidden * outputs),
          end(bias2 + outputs) {}

    static std::int64_t size(std::int64_t inputs, std::int64_t hidden, std::int64_t outputs) {
        return inputs * hidden + hidden + hidden * outputs + outputs;
    }
};

// Calls body(first, rows) for the tiles of a chunk.
template <typename Body>
void for_tiles(std::int64_t first, std::int64_t end, Body&& body) {
    for (std::int64_t row = first; row < end; row += kTileRows) body(row, std::min(kTileRows, end - row));
}

void add(const float* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

Rows plain(const float* base, std::int64_t width) { return {base, width, nullptr, 0}; }

}  // namespace

TrainingPass::TrainingPass(std::string_view instructions) : loops_(find_loops(instructions)) {
    if (loops_ == nullptr) throw std::invalid_argument("training: this machine has no such instruction set");
}

void TrainingPass::begin(const TrainingShape& shape, std::span<const TrainingGroup> groups, bool keep,
                         std::int32_t threads) {
    if (shape.embedding <= 0 || shape.embedding % kLanes != 0 || shape.nodes < 0)
        throw std::invalid_argument("training: such an embedding or number of nodes is not supported");
    shape_ = shape;
    keep_ = keep;
    layer_ = 0;
    arguments_.clear();
    relations_.clear();
    atom_chunks_.clear();
    node_chunks_.clear();
    message_floats_ = partial_floats_ = transposed_floats_ = 0;
    const std::int64_t size = shape.embedding;
    for (const TrainingGroup& group : groups)
        arguments_.insert(arguments_.end(), group.arguments.begin(), group.arguments.end());
    for (const std::int32_t node : arguments_)
        if (node < 0 || node >= shape.nodes) throw std::invalid_argument("training: there is no such node");
    ranges_ = NodeRanges(arguments_, shape.nodes, threads);
    threads_ = ranges_.threads();
    const std::int32_t* nodes = arguments_.data();
    std::int64_t widest = 2 * size;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const TrainingGroup& group = groups[i];
        const std::int64_t width = group.arity * size;
        widest = std::max(widest, width);
        for (std::size_t number = 0; number + 1 < group.row_offset.size(); ++number) {
            const std::int64_t atoms = group.row_offset[number + 1] - group.row_offset[number];
            if (atoms == 0) continue;
            for (std::int64_t row = 0; row < atoms; row += kChunkRows) {
                atom_chunks_.push_back({relations_.size(), row, std::min(atoms, row + kChunkRows), partial_floats_});
                partial_floats_ += Partial::size(width, width, width);
            }
            relations_.push_back({i, static_cast<std::int64_t>(number), group.arity, width, atoms, nodes,
                                  message_floats_, transposed_floats_});
            message_floats_ += tile_count(atoms) * kTileRows * width;
            transposed_floats_ += 2 * width * width;
            nodes += atoms * group.arity;
        }
    }
    for (std::int64_t row = 0; row < shape.nodes; row += kChunkRows) {
        node_chunks_.push_back({0, row, std::min(shape.nodes, row + kChunkRows), partial_floats_});
        partial_floats_ += Partial::size(2 * size, 2 * size, size) + 2 * size;
    }
    fill(x_, tile_count(shape.nodes) * kTileRows * size, 0.0F);
    fill(zeros_, widest, 0.0F);
}

void TrainingPass::forward(const TrainingWeights& weights) {
    const std::int64_t size = shape_.embedding;
    const std::int64_t node_floats = tile_count(shape_.nodes) * kTileRows * size;
    const auto number = static_cast<std::size_t>(keep_ ? layer_ : 0);
    if (memory_.size() <= number) memory_.resize(number + 1);
    Layer& layer = memory_[number];
    for (Floats* floats : {&layer.x, &layer.joined, &layer.inverse, &layer.change}) make_room(*floats, node_floats);
    make_room(layer.inner, 2 * node_floats);
    make_room(layer.hidden, message_floats_);
    make_room(layer.share, message_floats_);
    std::swap(layer.x, x_);
    make_room(x_, node_floats);
    if (layer_ == 0) {
        make_room(update1_, 4 * size * size);
        make_room(update2_, 2 * size * size);
        transpose(weights.update1, 2 * size, 2 * size, update1_.data());
        transpose(weights.update2, size, 2 * size, update2_.data());
    }
    for_all(static_cast<std::int64_t>(atom_chunks_.size()), threads_, [&](std::int64_t i) {
        const Chunk& chunk = atom_chunks_[static_cast<std::size_t>(i)];
        if (layer_ == 0)
            make_first_messages(weights, chunk, layer);
        else
            make_messages(weights, chunk, layer);
    });
    aggregate(layer);
    for_all(static_cast<std::int64_t>(node_chunks_.size()), threads_,
            [&](std::int64_t i) { update(weights, node_chunks_[static_cast<std::size_t>(i)], layer, x_.data()); });
    ++layer_;
}

void TrainingPass::make_messages(const TrainingWeights& weights, const Chunk& chunk, Layer& layer) {
    const Relation& relation = relations_[chunk.relation];
    const auto& group = weights.groups[relation.group];
    const std::int64_t size = shape_.embedding;
    const std::int64_t width = relation.width;
    const float* weight1 = group.weight1 + relation.number * width * width;
    const float* weight2 = group.weight2 + relation.number * width * width;
    Floats active(kTileRows * width);
    for_tiles(chunk.first, chunk.end, [&](std::int64_t first, std::int64_t rows) {
        float* inner = layer.hidden.data() + relation.first + first * width;
        const float* bias = group.bias1 + relation.number * width;
        for (std::int64_t p = 0; p < relation.arity; ++p) {
            loops_->multiply({layer.x.data(), size, relation.nodes + first * relation.arity + p, relation.arity}, rows,
                             size, weight1 + p * size * width, width, bias, inner);
            bias = nullptr;
        }
        const Rows part = plain(inner, width);
        loops_->add_rows(&part, 1, rows, width, true, active.data());
        loops_->multiply(plain(active.data(), width), rows, width, weight2, width,
                         group.bias2 + relation.number * width, layer.share.data() + relation.first + first * width);
    });
}

// All embeddings are 0: the hidden layer is the first bias, and all messages are the same.
void TrainingPass::make_first_messages(const TrainingWeights& weights, const Chunk& chunk, Layer& layer) {
    const Relation& relation = relations_[chunk.relation];
    const auto& group = weights.groups[relation.group];
    const std::int64_t width = relation.width;
    const float* bias = group.bias1 + relation.number * width;
    Floats active(width);
    Floats message(kTileRows * width);
    const Rows part = plain(bias, width);
    loops_->add_rows(&part, 1, 1, width, true, active.data());
    loops_->multiply(plain(active.data(), width), 1, width, group.weight2 + relation.number * width * width, width,
                     group.bias2 + relation.number * width, message.data());
    float* to = layer.share.data() + relation.first;
    for (std::int64_t row = chunk.first; row < chunk.end; ++row)
        std::copy(message.data(), message.data() + width, to + row * width);
}

// From messages to their exponentials, and to the aggregates of the nodes.
void TrainingPass::aggregate(Layer& layer) {
    const std::int64_t size = shape_.embedding;
    fill(highest_, shape_.nodes * size, kNoMessage);
    fill(sums_, shape_.nodes * size, 0.0F);
    const TrainingLoops& loops = *loops_->training;
    ranges_.for_each([&](std::int32_t first, std::int32_t end) {
        for (const Relation& relation : relations_)
            loops.raise(layer.share.data() + relation.first, relation.nodes, relation.atoms * relation.arity, size,
                        first, end, highest_.data());
        for (const Relation& relation : relations_)
            loops.weigh(relation.nodes, relation.atoms * relation.arity, size, shape_.sharpness, first, end,
                        highest_.data(), layer.share.data() + relation.first, sums_.data());
        const std::int64_t from = first * size;
        loops.join_parts(highest_.data() + from, sums_.data() + from, layer.x.data() + from, ranges_.degree() + first,
                         end - first, size, shape_.sharpness, layer.joined.data() + from, layer.inverse.data() + from);
    });
}

void TrainingPass::update(const TrainingWeights& weights, const Chunk& chunk, Layer& layer, float* output) {
    const std::int64_t size = shape_.embedding;
    Floats active(kTileRows * 2 * size);
    for_tiles(chunk.first, chunk.end, [&](std::int64_t first, std::int64_t rows) {
        const float* x = layer.x.data() + first * size;
        float* inner = layer.inner.data() + first * 2 * size;
        float* change = layer.change.data() + first * size;
        loops_->multiply(plain(x, size), rows, size, update1_.data(), 2 * size, weights.bias1, inner);
        loops_->multiply(plain(layer.joined.data() + first * size, size), rows, size, update1_.data() + 2 * size * size,
                         2 * size, nullptr, inner);
        const Rows part = plain(inner, 2 * size);
        loops_->add_rows(&part, 1, rows, 2 * size, true, active.data());
        loops_->multiply(plain(active.data(), 2 * size), rows, 2 * size, update2_.data(), size, weights.bias2, change);
        std::copy(x, x + rows * size, output + first * size);
        loops_->add_normed(change, weights.scale, weights.shift, rows, size, size, output + first * size);
    });
}

std::span<const float> TrainingPass::embeddings() const {
    return {x_.data(), static_cast<std::size_t>(shape_.nodes * shape_.embedding)};
}

std::int64_t TrainingPass::bytes() const {
    std::int64_t floats = 0;
    for (const Floats* entry :
         {&x_, &highest_, &sums_, &transposed_, &partials_, &gradient_, &before_, &spread_, &slots_})
        floats += entry->size();
    for (const Layer& layer : memory_)
        for (const Floats* entry :
             {&layer.x, &layer.joined, &layer.inverse, &layer.hidden, &layer.share, &layer.inner, &layer.change})
            floats += entry->size();
    return floats * static_cast<std::int64_t>(sizeof(float));
}

void TrainingPass::begin_backward(const TrainingWeights& weights, std::span<const float> gradient) {
    const std::int64_t size = shape_.embedding;
    const std::int64_t node_floats = tile_count(shape_.nodes) * kTileRows * size;
    for (Floats* floats : {&gradient_, &before_, &spread_}) make_room(*floats, node_floats);
    std::copy(gradient.begin(), gradient.end(), gradient_.data());
    make_room(slots_, message_floats_);
    make_room(transposed_, transposed_floats_);
    fill(partials_, partial_floats_, 0.0F);
    for_all(static_cast<std::int64_t>(relations_.size()), threads_, [&](std::int64_t i) {
        const Relation& relation = relations_[static_cast<std::size_t>(i)];
        const auto& group = weights.groups[relation.group];
        const std::int64_t area = relation.width * relation.width;
        float* to = transposed_.data() + relation.transposed;
        transpose(group.weight1 + relation.number * area, relation.width, relation.width, to);
        transpose(group.weight2 + relation.number * area, relation.width, relation.width, to + area);
    });
}

void TrainingPass::backward(const TrainingWeights& weights) {
    --layer_;
    const Layer& layer = memory_[static_cast<std::size_t>(layer_)];
    const std::int64_t size = shape_.embedding;
    for_all(static_cast<std::int64_t>(node_chunks_.size()), threads_,
            [&](std::int64_t i) { update_backward(weights, node_chunks_[static_cast<std::size_t>(i)], layer); });
    for_all(static_cast<std::int64_t>(atom_chunks_.size()), threads_, [&](std::int64_t i) {
        const Chunk& chunk = atom_chunks_[static_cast<std::size_t>(i)];
        if (layer_ == 0)
            first_messages_backward(weights, chunk, layer);
        else
            messages_backward(chunk, layer);
    });
    if (layer_ > 0)
        ranges_.for_each([&](std::int32_t first, std::int32_t end) {
            for (const Relation& relation : relations_)
                loops_->training->scatter(slots_.data() + relation.first, relation.nodes,
                                          relation.atoms * relation.arity, size, first, end, before_.data());
        });
    std::swap(gradient_, before_);
}

// Gradients with respect to the embeddings before the layer, through the update and what messages have of their
// targets, and with respect to the aggregates.
void TrainingPass::update_backward(const TrainingWeights& weights, const Chunk& chunk, const Layer& layer) {
    const std::int64_t size = shape_.embedding;
    const std::int64_t both = 2 * size;
    const TrainingLoops& loops = *loops_->training;
    const Partial partial(partials_.data() + chunk.partial, both, both, size);
    Floats change(kTileRows * size);
    Floats active(kTileRows * both);
    Floats slope(kTileRows * both);
    Floats inner(kTileRows * both);
    Floats result(kTileRows * both);
    for_tiles(chunk.first, chunk.end, [&](std::int64_t first, std::int64_t rows) {
        const float* gradient = gradient_.data() + first * size;
        loops.norm_backward(layer.change.data() + first * size, gradient, weights.scale, rows, size, change.data(),
                            partial.end, partial.end + size);
        loops.mish_parts(layer.inner.data() + first * both, rows * both, active.data(), slope.data());
        loops.add_products(plain(active.data(), both), rows, both, change.data(), size, partial.weight2);
        loops.add_columns(change.data(), rows, size, partial.bias2);
        loops_->multiply(plain(change.data(), size), rows, size, weights.update2, both, zeros_.data(), inner.data());
        loops.scale(slope.data(), rows * both, inner.data());
        loops.add_products(plain(layer.x.data() + first * size, size), rows, size, inner.data(), both, partial.weight1);
        loops.add_products(plain(layer.joined.data() + first * size, size), rows, size, inner.data(), both,
                           partial.weight1 + size * both);
        loops.add_columns(inner.data(), rows, both, partial.bias1);
        loops_->multiply(plain(inner.data(), both), rows, both, weights.update1, both, zeros_.data(), result.data());
        for (std::int64_t row = 0; row < rows; ++row) {
            const float* own = result.data() + row * both;
            const float* joined = own + size;
            const float residual = ranges_.degree()[first + row] != 0 ? 1.0F : 0.0F;
            const float* inverse = layer.inverse.data() + (first + row) * size;
            float* before = before_.data() + (first + row) * size;
            float* spread = spread_.data() + (first + row) * size;
            for (std::int64_t k = 0; k < size; ++k) {
                before[k] = gradient[row * size + k] + own[k] + residual * joined[k];
                spread[k] = joined[k] * inverse[k];
            }
        }
    });
}

void TrainingPass::messages_backward(const Chunk& chunk, const Layer& layer) {
    const Relation& relation = relations_[chunk.relation];
    const std::int64_t size = shape_.embedding;
    const std::int64_t width = relation.width;
    const TrainingLoops& loops = *loops_->training;
    const Partial partial(partials_.data() + chunk.partial, width, width, width);
    const float* transposed1 = transposed_.data() + relation.transposed;
    const float* transposed2 = transposed1 + width * width;
    Floats change(kTileRows * width);
    Floats active(kTileRows * width);
    Floats slope(kTileRows * width);
    Floats inner(kTileRows * width);
    for_tiles(chunk.first, chunk.end, [&](std::int64_t first, std::int64_t rows) {
        const std::int32_t* nodes = relation.nodes + first * relation.arity;
        const std::int64_t start = relation.first + first * width;
        loops.gather_products(spread_.data(), nodes, rows * relation.arity, size, layer.share.data() + start,
                              change.data());
        loops.mish_parts(layer.hidden.data() + start, rows * width, active.data(), slope.data());
        loops.add_products(plain(active.data(), width), rows, width, change.data(), width, partial.weight2);
        loops.add_columns(change.data(), rows, width, partial.bias2);
        loops_->multiply(plain(change.data(), width), rows, width, transposed2, width, zeros_.data(), inner.data());
        loops.scale(slope.data(), rows * width, inner.data());
        for (std::int64_t p = 0; p < relation.arity; ++p)
            loops.add_products({layer.x.data(), size, nodes + p, relation.arity}, rows, size, inner.data(), width,
                               partial.weight1 + p * size * width);
        loops.add_columns(inner.data(), rows, width, partial.bias1);
        loops_->multiply(plain(inner.data(), width), rows, width, transposed1, width, zeros_.data(),
                         slots_.data() + start);
    });
}

// All atoms have the same hidden layer, and what is before it is constant: sums over the atoms are enough.
void TrainingPass::first_messages_backward(const TrainingWeights& weights, const Chunk& chunk, const Layer& layer) {
    const Relation& relation = relations_[chunk.relation];
    const std::int64_t width = relation.width;
    const TrainingLoops& loops = *loops_->training;
    const Partial partial(partials_.data() + chunk.partial, width, width, width);
    Floats change(kTileRows * width);
    Floats total(width, 0);
    for_tiles(chunk.first, chunk.end, [&](std::int64_t first, std::int64_t rows) {
        loops.gather_products(spread_.data(), relation.nodes + first * relation.arity, rows * relation.arity,
                              shape_.embedding, layer.share.data() + relation.first + first * width, change.data());
        loops.add_columns(change.data(), rows, width, total.data());
    });
    Floats active(width);
    Floats slope(width);
    Floats inner(kTileRows * width);
    loops.mish_parts(weights.groups[relation.group].bias1 + relation.number * width, width, active.data(),
                     slope.data());
    loops.add_products(plain(active.data(), width), 1, width, total.data(), width, partial.weight2);
    loops.add_columns(total.data(), 1, width, partial.bias2);
    loops_->multiply(plain(total.data(), width), 1, width, transposed_.data() + relation.transposed + width * width,
                     width, zeros_.data(), inner.data());
    loops.scale(slope.data(), width, inner.data());
    loops.add_columns(inner.data(), 1, width, partial.bias1);
}

void TrainingPass::add_gradients(const TrainingGradients& gradients) const {
    for (const Chunk& chunk : atom_chunks_) {
        const Relation& relation = relations_[chunk.relation];
        const auto& group = gradients.groups[relation.group];
        const std::int64_t width = relation.width;
        const Partial partial(const_cast<float*>(partials_.data()) + chunk.partial, width, width, width);
        add(partial.weight1, width * width, group.weight1 + relation.number * width * width);
        add(partial.bias1, width, group.bias1 + relation.number * width);
        add(partial.weight2, width * width, group.weight2 + relation.number * width * width);
        add(partial.bias2, width, group.bias2 + relation.number * width);
    }
    const std::int64_t size = shape_.embedding;
    const std::int64_t both = 2 * size;
    Floats turned(both * both);
    for (const Chunk& chunk : node_chunks_) {
        const Partial partial(const_cast<float*>(partials_.data()) + chunk.partial, both, both, size);
        transpose(partial.weight1, both, both, turned.data());
        add(turned.data(), both * both, gradients.update1);
        add(partial.bias1, both, gradients.bias1);
        transpose(partial.weight2, both, size, turned.data());
        add(turned.data(), both * size, gradients.update2);
        add(partial.bias2, size, gradients.bias2);
        add(partial.end, size, gradients.scale);
        add(partial.end + size, size, gradients.shift);
    }
}

}  // namespace saltus

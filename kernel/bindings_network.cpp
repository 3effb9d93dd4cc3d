// The network for Python: its forward pass and training passes.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "network.hpp"
#include "training_pass.hpp"

namespace saltus::bindings {

namespace {

void make_network(Network* self, Input<std::int32_t> arity, std::int64_t embedding, std::int64_t hidden_layers,
                  double sharpness, std::int32_t readout, bool object_network, Input<float> weights,
                  const std::string& instructions) {
    NetworkShape shape{embedding,      hidden_layers, static_cast<float>(sharpness), static_cast<Readout>(readout),
                       object_network, copy(arity)};
    nb::gil_scoped_release release;
    new (self) Network(std::move(shape), view(weights), instructions);
}

Output<float> q_values(const Network& network, Input<std::int32_t> graph_offset, Input<std::int32_t> object_count,
                       Input<std::int64_t> argument_offset, Input<std::int32_t> arguments,
                       Input<std::int32_t> candidate_node, Input<std::int32_t> candidate_graph,
                       Input<std::int32_t> source_graph, std::int64_t layers, std::int32_t threads,
                       const std::optional<nb::callable>& check) {
    const NetworkBatch batch{view(graph_offset),   view(object_count),    view(argument_offset), view(arguments),
                             view(candidate_node), view(candidate_graph), view(source_graph)};
    return give(interruptibly([&] { return network.q_values(batch, layers, threads); },
                              check ? nb::handle(*check) : nb::handle()));
}

// A pass of training and the arrays of its weights.
class BoundTraining {
public:
    explicit BoundTraining(const std::string& instructions) : pass_(instructions) {}

    // Groups are (arguments [atoms, arity], row_offset [relations + 1]); weights are four arrays per group, four of the
    // update, two of the norm.
    void begin(std::int64_t nodes, std::int64_t embedding, double sharpness, const nb::list& groups,
               const nb::list& weights, bool keep, std::int32_t threads) {
        ready_ = backward_ = false;
        std::vector<TrainingGroup> found;
        relations_.clear();
        arity_.clear();
        for (nb::handle entry : groups) {
            const auto pair = nb::cast<nb::tuple>(entry);
            const auto arguments = nb::cast<Matrix<const std::int32_t>>(pair[0], false);
            const auto offset = nb::cast<Input<std::int64_t>>(pair[1], false);
            if (!is_increasing(view(offset)) || offset.data()[offset.shape(0) - 1] != as_int(arguments.shape(0)))
                throw nb::value_error("training: offsets do not fit");
            relations_.push_back(as_int(offset.shape(0)) - 1);
            arity_.push_back(as_int(arguments.shape(1)));
            found.push_back({arity_.back(), {arguments.data(), arguments.size()}, view(offset)});
        }
        pass_.begin({nodes, embedding, static_cast<float>(sharpness)}, found, keep, threads);
        weights_ = arrays<const float>(weights);
        held_ = nb::tuple(weights);  // a copy: the caller's list may change
        ready_ = true;
    }

    void forward() {
        require(ready_ && !backward_, "begin has not been called");
        nb::gil_scoped_release release;
        pass_.forward(weights_);
    }

    // Embeddings; without gradients to come, the weights are let go.
    void read(Matrix<float> output) {
        const auto values = pass_.embeddings();
        require(ready_ && output.size() == values.size(), "sizes do not fit");
        std::copy(values.begin(), values.end(), output.data());
        if (pass_.keeps()) return;
        ready_ = false;
        held_ = nb::tuple();
    }

    std::int64_t bytes() const { return pass_.bytes(); }

    void begin_backward(Matrix<const float> gradient) {
        require(ready_ && pass_.keeps(), "nothing was kept");
        require(gradient.size() == pass_.embeddings().size(), "sizes do not fit");
        nb::gil_scoped_release release;
        pass_.begin_backward(weights_, {gradient.data(), gradient.size()});
        backward_ = true;
    }

    void backward() {
        require(ready_ && backward_ && pass_.layers() > 0, "there is no layer left");
        nb::gil_scoped_release release;
        pass_.backward(weights_);
    }

    void add_gradients(const nb::list& gradients) {
        require(ready_ && backward_, "begin_backward has not been called");
        const auto to = arrays<float>(gradients);
        {
            nb::gil_scoped_release release;
            pass_.add_gradients(to);
        }
        ready_ = backward_ = false;
        held_ = nb::tuple();
    }

private:
    static std::int64_t as_int(std::size_t value) { return static_cast<std::int64_t>(value); }

    static void require(bool holds, const char* what) {
        if (!holds) throw nb::value_error((std::string("training: ") + what).c_str());
    }

    static bool is_increasing(std::span<const std::int64_t> values) {
        return !values.empty() && values.front() == 0 && std::is_sorted(values.begin(), values.end());
    }

    template <typename Number>
    TrainingArrays<Number> arrays(const nb::list& given) const {
        const std::int64_t size = pass_.shape().embedding;
        require(given.size() == 4 * arity_.size() + 6, "another number of arrays is needed");
        std::size_t next = 0;
        auto take = [&](std::int64_t count) {
            const auto array =
                nb::cast<nb::ndarray<Number, nb::c_contig, nb::device::cpu>>(nb::handle(given[next++]), false);
            require(as_int(array.size()) == count, "sizes do not fit");
            return array.data();
        };
        TrainingArrays<Number> result;
        for (std::size_t i = 0; i < arity_.size(); ++i) {
            const std::int64_t width = arity_[i] * size;
            Number* weight1 = take(relations_[i] * width * width);
            Number* bias1 = take(relations_[i] * width);
            Number* weight2 = take(relations_[i] * width * width);
            result.groups.push_back({weight1, bias1, weight2, take(relations_[i] * width)});
        }
        result.update1 = take(4 * size * size);
        result.bias1 = take(2 * size);
        result.update2 = take(2 * size * size);
        result.bias2 = take(size);
        result.scale = take(size);
        result.shift = take(size);
        return result;
    }

    TrainingPass pass_;
    TrainingWeights weights_;
    nb::tuple held_;  // the arrays of weights_
    std::vector<std::int64_t> relations_;
    std::vector<std::int64_t> arity_;
    bool ready_ = false;
    bool backward_ = false;
};

}  // namespace

void bind_network(nb::module_& module) {
    nb::class_<Network>(module, "Network")
        .def("__init__", &make_network, "arity"_a, "embedding"_a, "hidden_layers"_a, "sharpness"_a, "readout"_a,
             "object_network"_a, "weights"_a, "instructions"_a)
        .def_prop_ro("instructions", [](const Network& network) { return std::string(network.instructions()); })
        .def("q_values", &q_values, "graph_offset"_a, "object_count"_a, "argument_offset"_a, "arguments"_a,
             "candidate_node"_a, "candidate_graph"_a, "source_graph"_a, "layers"_a, "threads"_a, "check"_a.none());
    nb::class_<BoundTraining>(module, "TrainingPass")
        .def(nb::init<const std::string&>(), "instructions"_a)
        .def("begin", &BoundTraining::begin, "nodes"_a, "embedding"_a, "sharpness"_a, "groups"_a, "weights"_a, "keep"_a,
             "threads"_a)
        .def("forward", &BoundTraining::forward)
        .def_prop_ro("bytes", &BoundTraining::bytes)
        .def("read", &BoundTraining::read, "output"_a.noconvert())
        .def("begin_backward", &BoundTraining::begin_backward, "gradient"_a.noconvert())
        .def("backward", &BoundTraining::backward)
        .def("add_gradients", &BoundTraining::add_gradients, "gradients"_a);
}

}  // namespace saltus::bindings

#include "bindings.hpp"

NB_MODULE(_kernel, module) {
    using namespace saltus::bindings;
    module.doc() = "Saltus kernel: the hot loops, on flat arrays.";
    bind_task(module);
    bind_search(module);
    bind_relaxation(module);
    bind_graph(module);
    bind_network(module);
}

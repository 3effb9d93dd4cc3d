// Budget: which nodes of a finished tree are kept for the network, if they may not be all.
//
// Generating nodes is cheap, encoding them is not. Goal states come first, then nodes with more satisfied goals than
// the root, then all others; within each, in the order they were found. Twin: tests/twins/budget.py.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes.hpp"

namespace saltus {

// Nodes to keep, ascending: the root and at most `most` others, with every node its ancestors. A node whose ancestors
// do not fit is left out. `goals` is the number of the goal's literals.
std::vector<std::size_t> choose_encoded(const Nodes& nodes, std::size_t goals, std::int64_t most);

}  // namespace saltus

"""Q-values do not depend on the names and order of objects, nor on what else is in the batch."""

from __future__ import annotations

import random
import re

import pytest
import torch

from saltus.domains import DOMAINS, generate_problem
from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.lookahead import LookaheadTree, PlaySpec, TreeSpec, lookahead
from saltus.model import ModelSpec, RelationalNetwork, make_layout
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import State, Task, build_task

DOMAIN_NAMES = ("blocksworld", "childsnack", "spanner", "rovers")
KINDS = ("ad", "aa", "ext", "int", "id")


def task_of(name: str, text: str) -> Task:
    domain = parse_domain(Source.from_file(DOMAINS[name].path))
    return build_task(domain, parse_problem(Source.from_bytes(text.encode()), domain))


def shuffled(text: str, rng: random.Random) -> tuple[str, dict[str, str]]:
    """The problem with its objects renamed and listed in another order, and the new name of every old one."""
    match = re.search(r"\(:objects(.*?)\)\s*\(:init", text, re.DOTALL)
    assert match is not None
    entries: list[tuple[str, str]] = []
    for line in match.group(1).strip().splitlines():
        names, _, kind = line.partition(" - ")
        entries += [(name, kind.strip()) for name in names.split()]
    numbers = rng.sample(range(len(entries)), len(entries))
    new = {name: f"z{number}" for (name, _), number in zip(entries, numbers, strict=True)}
    kinds = {new[name]: kind for name, kind in entries}
    listing = "\n".join(f"{name} - {kinds[name]}" if kinds[name] else name for name in sorted(kinds))
    rest = re.sub(r"[^\s()]+", lambda word: new.get(word.group(), word.group()), text[match.end() - len("(:init") :])
    head = text[: match.start()]
    return f"{head}(:objects {listing})\n{rest}", new


def q_values(tree: LookaheadTree, network: RelationalNetwork, encoding: EncodingSpec, copies: int = 1) -> torch.Tensor:
    vocabulary = Vocabulary.of(tree.task.domain, encoding)
    layout = make_layout(assemble([(tree, None)] * copies, vocabulary, encoding), network.arities)
    with torch.inference_mode():
        return network(layout).q


def by_state(tree: LookaheadTree, q: torch.Tensor, names: dict[str, str] | None = None) -> dict[frozenset[str], float]:
    """Q-value of every candidate, by its atoms under the new names."""

    def renamed(state: State) -> frozenset[str]:
        atoms = (tree.task.atom_name(code) for code in state)
        return frozenset(
            re.sub(r"[^\s()]+", lambda word: (names or {}).get(word.group(), word.group()), atom) for atom in atoms
        )

    return {renamed(tree.state_of(i)): float(q[i - 1]) for i in range(1, len(tree))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DOMAIN_NAMES)
def test_names_and_order_of_objects_do_not_matter(name: str, kind: str) -> None:
    """A flat lookahead has the same states under any order; each keeps its Q-value."""
    text = generate_problem(name, "training", 5, 12, seed=1)
    other_text, names = shuffled(text, random.Random(2))
    encoding = EncodingSpec(kind=kind)
    torch.manual_seed(1)
    domain = parse_domain(Source.from_file(DOMAINS[name].path))
    arities = tuple(relation.arity for relation in Vocabulary.of(domain, encoding))
    network = RelationalNetwork(arities, kind, ModelSpec(layers=6)).double()
    spec = TreeSpec(kind="flat")
    tree, other = (lookahead(task_of(name, entry), spec=spec) for entry in (text, other_text))
    found = by_state(tree, q_values(tree, network, encoding), names)
    wanted = by_state(other, q_values(other, network, encoding))
    assert found.keys() == wanted.keys()
    assert all(found[state] == pytest.approx(wanted[state], rel=1e-5, abs=1e-9) for state in wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_company_does_not_matter(kind: str) -> None:
    """Graphs of one batch do not speak to each other."""
    encoding = EncodingSpec(kind=kind)
    spec = TreeSpec(kind="flat" if kind == "aa" else "aiw")
    limits = PlaySpec(max_nodes=30)
    domain = parse_domain(Source.from_file(DOMAINS["blocksworld"].path))
    vocabulary = Vocabulary.of(domain, encoding)
    torch.manual_seed(2)
    network = RelationalNetwork(tuple(r.arity for r in vocabulary), kind, ModelSpec(layers=6)).double()
    trees = [
        lookahead(task_of("blocksworld", generate_problem("blocksworld", "training", i, 12)), spec=spec, play=limits)
        for i in (3, 6, 9)
    ]
    batch = assemble([(tree, None) for tree in trees], vocabulary, encoding)
    with torch.inference_mode():
        together = network(make_layout(batch, network.arities)).q
    for number, tree in enumerate(trees):
        alone = q_values(tree, network, encoding)
        part = together[batch.candidate_offset[number] : batch.candidate_offset[number + 1]]
        assert torch.allclose(part, alone, rtol=1e-5, atol=1e-9)

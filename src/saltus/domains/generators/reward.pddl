; Reward: walk over a grid with blocked cells and pick up every reward.

(define (domain reward-strips)
  (:requirements :strips :typing :equality)
  (:types cell - object)

  (:predicates
    (adjacent ?c1 - cell ?c2 - cell)
    (at ?c - cell)
    (unblocked ?c - cell)
    (reward ?c - cell)
    (picked ?c - cell))

  (:action move
    :parameters (?from - cell ?to - cell)
    :precondition (and (adjacent ?from ?to) (at ?from) (unblocked ?to))
    :effect (and (not (at ?from)) (at ?to)))

  (:action pick-reward
    :parameters (?x - cell)
    :precondition (and (at ?x) (reward ?x))
    :effect (and (not (reward ?x)) (picked ?x))))

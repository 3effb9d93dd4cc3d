; Visitall: walk over a grid until every cell of the goal has been visited.

(define (domain grid-visit-all)
  (:requirements :typing :equality)
  (:types place - object)

  (:predicates
    (connected ?x ?y - place)
    (at-robot ?x - place)
    (visited ?x - place))

  (:action move
    :parameters (?curpos ?nextpos - place)
    :precondition (and (at-robot ?curpos) (connected ?curpos ?nextpos))
    :effect (and (at-robot ?nextpos) (not (at-robot ?curpos)) (visited ?nextpos))))

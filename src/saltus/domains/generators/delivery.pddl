; Delivery: one truck on a grid brings packages, one at a time, to their cell.

(define (domain delivery)
  (:requirements :strips :typing :equality)
  (:types cell locatable - object
          package truck - locatable)

  (:predicates
    (adjacent ?cell1 - cell ?cell2 - cell)
    (at ?locatable - locatable ?cell - cell)
    (carrying ?truck - truck ?package - package)
    (empty ?truck - truck))

  (:action pick-package
    :parameters (?t - truck ?p - package ?x - cell)
    :precondition (and (at ?p ?x) (at ?t ?x) (empty ?t))
    :effect (and (carrying ?t ?p) (not (at ?p ?x)) (not (empty ?t))))

  (:action drop-package
    :parameters (?t - truck ?p - package ?x - cell)
    :precondition (and (at ?t ?x) (carrying ?t ?p))
    :effect (and (empty ?t) (at ?p ?x) (not (carrying ?t ?p))))

  (:action move
    :parameters (?t - truck ?from - cell ?to - cell)
    :precondition (and (adjacent ?from ?to) (at ?t ?from))
    :effect (and (at ?t ?to) (not (at ?t ?from)))))

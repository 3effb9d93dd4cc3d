; A gardener waters plants, one per can of water from the well.
(define (domain gardener)
  (:requirements :strips :typing)
  (:types place plant)
  (:predicates
    (path ?from ?to - place)
    (at ?place - place)
    (well ?place - place)
    (grows ?plant - plant ?place - place)
    (full)
    (empty)
    (watered ?plant - plant))

  (:action walk
    :parameters (?from ?to - place)
    :precondition (and (at ?from) (path ?from ?to))
    :effect (and (at ?to) (not (at ?from))))

  (:action fill
    :parameters (?place - place)
    :precondition (and (at ?place) (well ?place) (empty))
    :effect (and (full) (not (empty))))

  (:action water
    :parameters (?plant - plant ?place - place)
    :precondition (and (at ?place) (grows ?plant ?place) (full))
    :effect (and (watered ?plant) (empty) (not (full)))))

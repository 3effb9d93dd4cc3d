; Two places, one plant.
(define (problem garden-1)
  (:domain gardener)
  (:objects
    p1-1 p2-1 - place
    plant1 - plant)
  (:init
    (empty) (at p1-1) (well p1-1)
    (path p1-1 p2-1) (path p2-1 p1-1)
    (grows plant1 p2-1))
  (:goal (and
    (watered plant1))))

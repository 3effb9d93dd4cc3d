; Four places, two plants.
(define (problem garden-2)
  (:domain gardener)
  (:objects
    p1-1 p2-1
    p1-2 p2-2 - place
    plant1 plant2 - plant)
  (:init
    (empty) (at p1-1) (well p1-1)
    (path p1-1 p2-1) (path p2-1 p1-1)
    (path p1-1 p1-2) (path p1-2 p1-1)
    (path p2-1 p2-2) (path p2-2 p2-1)
    (path p1-2 p2-2) (path p2-2 p1-2)
    (grows plant1 p1-1) (grows plant2 p1-2))
  (:goal (and
    (watered plant1) (watered plant2))))

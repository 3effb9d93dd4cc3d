; Six places, three plants.
(define (problem garden-3)
  (:domain gardener)
  (:objects
    p1-1 p2-1 p3-1
    p1-2 p2-2 p3-2 - place
    plant1 plant2 plant3 - plant)
  (:init
    (empty) (at p2-2) (well p2-1)
    (path p1-1 p2-1) (path p2-1 p1-1)
    (path p1-1 p1-2) (path p1-2 p1-1)
    (path p2-1 p3-1) (path p3-1 p2-1)
    (path p2-1 p2-2) (path p2-2 p2-1)
    (path p3-1 p3-2) (path p3-2 p3-1)
    (path p1-2 p2-2) (path p2-2 p1-2)
    (path p2-2 p3-2) (path p3-2 p2-2)
    (grows plant1 p2-2) (grows plant2 p2-1) (grows plant3 p3-1))
  (:goal (and
    (watered plant1) (watered plant2) (watered plant3))))

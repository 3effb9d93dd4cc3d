; Nine places, four plants.
(define (problem garden-4)
  (:domain gardener)
  (:objects
    p1-1 p2-1 p3-1
    p1-2 p2-2 p3-2
    p1-3 p2-3 p3-3 - place
    plant1 plant2 plant3 plant4 - plant)
  (:init
    (empty) (at p2-2) (well p1-2)
    (path p1-1 p2-1) (path p2-1 p1-1)
    (path p1-1 p1-2) (path p1-2 p1-1)
    (path p2-1 p3-1) (path p3-1 p2-1)
    (path p2-1 p2-2) (path p2-2 p2-1)
    (path p3-1 p3-2) (path p3-2 p3-1)
    (path p1-2 p2-2) (path p2-2 p1-2)
    (path p1-2 p1-3) (path p1-3 p1-2)
    (path p2-2 p3-2) (path p3-2 p2-2)
    (path p2-2 p2-3) (path p2-3 p2-2)
    (path p3-2 p3-3) (path p3-3 p3-2)
    (path p1-3 p2-3) (path p2-3 p1-3)
    (path p2-3 p3-3) (path p3-3 p2-3)
    (grows plant1 p2-1) (grows plant2 p1-3) (grows plant3 p2-3)
    (grows plant4 p3-1))
  (:goal (and
    (watered plant1) (watered plant2) (watered plant3) (watered plant4))))

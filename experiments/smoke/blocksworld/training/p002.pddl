(define (problem blocksworld-training-002)
  (:domain blocksworld)
  (:objects
    b1 b2 b3 b4)
  (:init
    (arm-empty)
    (clear b1)
    (on-table b1)
    (clear b4)
    (on b4 b2)
    (on b2 b3)
    (on-table b3))
  (:goal (and
    (clear b3)
    (on b3 b4)
    (on-table b4)
    (clear b1)
    (on b1 b2)
    (on-table b2))))

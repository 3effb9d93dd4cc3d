; Open stacks: orders of several products each, which are made one product at a time. An order that has been started and
; not shipped needs a stack, and there are not many. The names are those of IPC 2008's ADL openstacks, so that its
; problems fit, too, apart from their costs.
(define (domain openstacks)
  (:requirements :adl :typing)
  (:types order product count - object)
  (:predicates
    (includes ?o - order ?p - product)
    (waiting ?o - order)
    (started ?o - order)
    (shipped ?o - order)
    (made ?p - product)
    (stacks-avail ?n - count)
    (next-count ?n ?m - count))

  (:action open-new-stack
    :parameters (?n ?m - count)
    :precondition (and (stacks-avail ?n) (next-count ?n ?m))
    :effect (and (not (stacks-avail ?n)) (stacks-avail ?m)))

  (:action start-order
    :parameters (?o - order ?n ?m - count)
    :precondition (and (waiting ?o) (stacks-avail ?n) (next-count ?m ?n))
    :effect (and (not (waiting ?o)) (started ?o) (not (stacks-avail ?n)) (stacks-avail ?m)))

  ; All orders that include a product must have been started when it is made: it is made once.
  (:action make-product
    :parameters (?p - product)
    :precondition (and (not (made ?p)) (forall (?o - order) (imply (includes ?o ?p) (started ?o))))
    :effect (made ?p))

  (:action ship-order
    :parameters (?o - order ?n ?m - count)
    :precondition (and (started ?o) (stacks-avail ?n) (next-count ?n ?m)
                       (not (exists (?p - product) (and (includes ?o ?p) (not (made ?p))))))
    :effect (and (not (started ?o)) (shipped ?o) (not (stacks-avail ?n)) (stacks-avail ?m))))

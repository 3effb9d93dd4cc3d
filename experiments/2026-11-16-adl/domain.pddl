; A lift and the rules of a house: the rules of the ADL miconic of IPC 2000, with its names, so that its problems fit, too.
(define (domain miconic)
  (:requirements :adl :typing)
  (:types passenger floor - object)
  (:predicates
    (origin ?p - passenger ?f - floor)
    (destin ?p - passenger ?f - floor)
    (no-access ?p - passenger ?f - floor)      ; must not be aboard where the lift stops at ?f
    (going_up ?p - passenger)                  ; while aboard, the lift does not go down
    (going_down ?p - passenger)                ; while aboard, the lift does not go up
    (vip ?p - passenger)                       ; until all are served, the lift stops only where one of them enters or leaves
    (going_nonstop ?p - passenger)             ; while aboard, the lift stops only at the destination
    (attendant ?p - passenger)
    (never_alone ?p - passenger)               ; is aboard only together with an attendant
    (conflict_a ?p - passenger)                ; is never aboard together with one of conflict_b
    (conflict_b ?p - passenger)
    (above ?f - floor ?g - floor)              ; ?g is higher
    (boarded ?p - passenger)
    (served ?p - passenger)
    (lift-at ?f - floor))

  (:action stop
    :parameters (?f - floor)
    :precondition (and
      (lift-at ?f)
      ; Somebody rides on or enters in conflict with somebody else who does.
      (not (exists (?p ?q - passenger)
        (and (conflict_a ?p) (conflict_b ?q)
             (or (and (boarded ?p) (not (destin ?p ?f))) (and (origin ?p ?f) (not (served ?p))))
             (or (and (boarded ?q) (not (destin ?q ?f))) (and (origin ?q ?f) (not (served ?q)))))))
      (forall (?p - passenger)
        (imply (and (never_alone ?p) (or (and (boarded ?p) (not (destin ?p ?f))) (and (origin ?p ?f) (not (served ?p)))))
               (exists (?q - passenger)
                 (and (attendant ?q)
                      (or (and (boarded ?q) (not (destin ?q ?f))) (and (origin ?q ?f) (not (served ?q))))))))
      (forall (?p - passenger) (imply (and (going_nonstop ?p) (boarded ?p)) (destin ?p ?f)))
      (or (forall (?p - passenger) (imply (vip ?p) (served ?p)))
          (exists (?p - passenger) (and (vip ?p) (or (origin ?p ?f) (destin ?p ?f)))))
      (forall (?p - passenger) (imply (no-access ?p ?f) (not (boarded ?p)))))
    :effect (and
      (forall (?p - passenger)
        (when (and (boarded ?p) (destin ?p ?f)) (and (not (boarded ?p)) (served ?p))))
      (forall (?p - passenger)
        (when (and (origin ?p ?f) (not (served ?p))) (boarded ?p)))))

  (:action up
    :parameters (?f ?g - floor)
    :precondition (and (lift-at ?f) (above ?f ?g)
                       (not (exists (?p - passenger) (and (going_down ?p) (boarded ?p)))))
    :effect (and (lift-at ?g) (not (lift-at ?f))))

  (:action down
    :parameters (?f ?g - floor)
    :precondition (and (lift-at ?f) (above ?g ?f)
                       (forall (?p - passenger) (imply (boarded ?p) (not (going_up ?p)))))
    :effect (and (lift-at ?g) (not (lift-at ?f)))))

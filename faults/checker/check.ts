import { acknowledged } from './acknowledged.js'
import { circuitReports } from './circuit-reports.js'
import { counts } from './counts.js'
import { delivered } from './delivered.js'
import { deliveryOrder } from './delivery-order.js'
import { drained } from './drained.js'
import { fencing } from './fencing.js'
import type { History } from './history.js'
import { onePerKey } from './one-per-key.js'
import { outbox } from './outbox.js'
import { published } from './published.js'
import { replayed } from './replayed.js'
import { sameBytes } from './same-bytes.js'
import { schedule } from './schedule.js'
import { sessionOrder } from './session-order.js'
import { verifySignatures, type Verify } from './signatures.js'
import type { Invariant, Violation } from './violation.js'

/** The promises, by the names that violations have. */
const invariants = (verify: Verify): Readonly<Record<string, Invariant>> => ({
  acknowledged,
  'one-per-key': onePerKey,
  outbox,
  drained,
  schedule,
  delivered,
  'same-bytes': sameBytes(verify),
  'session-order': sessionOrder,
  fencing,
  'delivery-order': deliveryOrder,
  counts,
  'circuit-reports': circuitReports,
  published,
  replayed,
})

/** Returns all violations in the history. */
export const check = (history: History, verify: Verify = verifySignatures): readonly Violation[] =>
  Object.entries(invariants(verify)).flatMap(([invariant, breaches]) =>
    Array.from(breaches(history), (breach) => ({ invariant, ...breach })),
  )

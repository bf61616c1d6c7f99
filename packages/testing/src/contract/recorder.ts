import type { Instant } from '@org/agent-messaging-core'
import type {
  DeferredState,
  AttemptRecord,
  ClaimDue,
  ClaimedDelivery,
  ReleasedClaim,
  ClaimedMessage,
  HeldRun,
  FreeSlots,
  MessageStore,
  NewMessage,
  RecordedRun,
} from '@org/agent-messaging-core/storage'
import type { DeliveryStep, RunStep, Send, Span } from './history.js'
import type { UnwrappedStorage } from './unwrapped.js'

type RunRecord = Parameters<MessageStore['recordRun']>[0]

/** The calls of a store that a workload makes, each written down with its answer. */
export type Recorder = {
  readonly sends: Send[]
  readonly runs: RunStep[]
  readonly deliveries: DeliveryStep[]
  through(storage: UnwrappedStorage): RecordedCalls
}

export type RecordedCalls = {
  accept(message: NewMessage): Promise<ClaimedMessage | undefined>
  claimRunnable(query: {
    lanes: readonly FreeSlots[]
    now: Instant
    until: Instant
  }): Promise<ClaimedMessage[]>
  extendLeases(held: readonly HeldRun[], until: Instant): Promise<string[]>
  defer(deferral: HeldRun & { readonly state: DeferredState }): Promise<void>
  recordRun(run: RunRecord): Promise<RecordedRun>
  claimDue(query: ClaimDue): Promise<ClaimedDelivery[]>
  release(held: ReleasedClaim, now: Instant): Promise<void>
  recordAttempt(record: AttemptRecord): Promise<void>
}

export function createRecorder(): Recorder {
  const sends: Send[] = []
  const runs: RunStep[] = []
  const deliveries: DeliveryStep[] = []
  let calls = 0

  async function timed<T>(call: () => Promise<T>): Promise<[T, Span]> {
    const from = calls++
    const answer = await call()
    return [answer, { from, to: calls++ }]
  }

  function noteRuns(claims: readonly ClaimedMessage[], now: Instant, span: Span): void {
    for (const claimed of claims) {
      runs.push({
        ...span,
        kind: 'claimed',
        messageId: claimed.message.id,
        token: claimed.lease.token,
        now,
        claimed,
      })
    }
  }

  function noteDeliveries(claims: readonly ClaimedDelivery[], now: Instant, span: Span): void {
    for (const claimed of claims) {
      deliveries.push({
        ...span,
        kind: 'claimed',
        deliveryId: claimed.delivery.id,
        token: claimed.lease.token,
        now,
        claimed,
      })
    }
  }

  const through = ({ messages, deliveries: deliveryStore }: UnwrappedStorage): RecordedCalls => ({
    accept: async (message) => {
      const [answer, span] = await timed(() => messages.accept(message))
      const accepted =
        answer.kind === 'claimed'
          ? answer.claimed.message
          : 'message' in answer
            ? answer.message
            : undefined
      const { agentId, sessionId, idempotencyKey: key, id: ownId } = message
      const isNew = answer.kind === 'created' || answer.kind === 'claimed'
      sends.push({ ...span, agentId, sessionId, key, ownId, messageId: accepted?.id, isNew })
      if (answer.kind !== 'claimed') return undefined
      noteRuns([answer.claimed], message.now, span)
      return answer.claimed
    },
    claimRunnable: async (query) => {
      const [claims, span] = await timed(() => messages.claimRunnable(query))
      noteRuns(claims, query.now, span)
      return claims
    },
    extendLeases: async (held, until) => {
      const [lost, span] = await timed(() => messages.extendLeases(held, until))
      for (const claim of held)
        runs.push({
          ...span,
          ...claim,
          kind: 'extended',
          until,
          ok: !lost.includes(claim.messageId),
        })
      return lost
    },
    defer: async ({ messageId, token, state }) => {
      const [answer, span] = await timed(() => messages.defer({ messageId, token, state }))
      runs.push({
        ...span,
        messageId,
        token,
        kind: 'deferred',
        deadlineAt: state.deadlineAt,
        ok: answer === 'deferred',
      })
    },
    recordRun: async (run) => {
      const [answer, span] = await timed(() => messages.recordRun(run))
      const { messageId, token, state, now, outgoing } = run
      runs.push({
        ...span,
        messageId,
        token,
        kind: 'recorded',
        state,
        event: outgoing?.events[0],
        ok: answer.kind === 'recorded',
      })
      if (answer.kind === 'recorded') noteDeliveries(answer.deliveries, now, span)
      return answer
    },
    claimDue: async (query) => {
      const [claims, span] = await timed(() => deliveryStore.claim(query))
      noteDeliveries(claims, query.now, span)
      return claims
    },
    release: async (held, now) => {
      const [answer, span] = await timed(() => deliveryStore.release([held], now))
      deliveries.push({ ...span, ...held, kind: 'released', dueAt: now, ok: answer === 1 })
    },
    recordAttempt: async (record) => {
      const [answer, span] = await timed(() => deliveryStore.recordAttempt(record))
      const { deliveryId, token, state, attempt } = record
      deliveries.push({
        ...span,
        deliveryId,
        token,
        kind: 'attempted',
        outcome: attempt.outcome,
        state,
        ok: answer.kind === 'recorded',
      })
    },
  })

  return { sends, runs, deliveries, through }
}

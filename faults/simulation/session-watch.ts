import { isDeepStrictEqual } from 'node:util'
import type { Agent } from '@org/agent-messaging-core'
import type {
  Accepted,
  ClaimedMessage,
  ClockJump,
  MoveResult,
  MessageStore,
} from '@org/agent-messaging-core/storage'
import { type ModelMessage, SessionModel } from '@org/agent-messaging-testing'
import type { StoreObserver } from './storage.js'

/**
 * Compares the store of a simulation with the model of sessions that the contract suite uses. Each
 * call of the store goes to the model too and must have the same result.
 */
export type SessionWatch = { readonly observe: StoreObserver; readonly breaches: readonly string[] }

type Params = { [M in keyof MessageStore]: Parameters<MessageStore[M]>[0] }
type Answers = {
  [M in keyof MessageStore]: Awaited<ReturnType<MessageStore[M]>> extends infer R
    ? R extends { value: infer V }
      ? V
      : never
    : never
}
type Watched =
  | 'accept'
  | 'claimRunnable'
  | 'extendLeases'
  | 'ask'
  | 'changeInput'
  | 'defer'
  | 'recordRun'
  | 'cancel'
  | 'retry'
type Watchers = {
  readonly [M in Watched]: (asked: Params[M], answer: Answers[M], until: number) => void
}

/** Refusals for reasons that the model does not know. */
const NOTHING_STORED: ReadonlySet<Accepted['kind']> = new Set([
  'agent_not_found',
  'agent_not_running',
  'agent_changed',
  'key_revoked',
])

export function createSessionWatch(maxQueued: number): SessionWatch {
  const models = new Map<string, SessionModel>()
  const owners = new Map<string, SessionModel>()
  const breaches: string[] = []

  function modelOf(agentId: Agent['id']): SessionModel {
    const model = models.get(agentId) ?? new SessionModel(maxQueued, Infinity)
    models.set(agentId, model)
    return model
  }

  function expect(what: string, actual: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(actual, expected))
      breaches.push(
        `${what}: the store says ${JSON.stringify(actual)}, the model ${JSON.stringify(expected)}`,
      )
  }

  function begin(model: SessionModel, { message, lease, isExhausted }: ClaimedMessage): void {
    const own = model.messages.get(message.id)
    if (!own) return void breaches.push(`message ${message.id} was claimed but never accepted`)
    model.claim(own, lease.token, lease.until)
    // The claim starts no run. The model does not know the agent's `maxAttempts`.
    if (isExhausted) own.attempt--
    expect(`the attempt of ${message.id}`, message.attempt, own.attempt)
  }

  const known = (messageId: string): [SessionModel, ModelMessage] | undefined => {
    const model = owners.get(messageId)
    const message = model?.messages.get(messageId)
    return model && message && [model, message]
  }

  const watchers: Watchers = {
    accept(message, accepted) {
      if (NOTHING_STORED.has(accepted.kind)) return
      const { id, agentId, sessionId, idempotencyKey, now, claimUntil } = message
      const model = modelOf(agentId)
      const isNew = !owners.has(id)
      expect(
        `accepting ${id}`,
        accepted.kind,
        model.accept({ id, sessionId }, idempotencyKey ?? id, now, claimUntil !== undefined),
      )
      if (isNew && model.messages.has(id)) owners.set(id, model)
      if (accepted.kind === 'claimed') begin(model, accepted.claimed)
    },
    claimRunnable({ lanes, now }, claimed) {
      for (const { agentId, free } of lanes) {
        const model = modelOf(agentId)
        const due = new Set(model.due(now).map(({ id }) => id))
        const mine = claimed.filter(({ message }) => message.agentId === agentId)
        expect(`the number of claims of agent ${agentId}`, mine.length, Math.min(free, due.size))
        for (const claim of mine) {
          if (!due.has(claim.message.id))
            breaches.push(`message ${claim.message.id} was claimed before it was due`)
          begin(model, claim)
        }
      }
    },
    extendLeases(held, lost, until) {
      const gone = held.filter(
        (claim) => !owners.get(claim.messageId)?.finish(claim, 'running', 0, until),
      )
      expect('lost leases', lost.toSorted(), gone.map(({ messageId }) => messageId).toSorted())
    },
    defer({ state, ...held }, answer) {
      const isHeld = owners.get(held.messageId)?.finish(held, 'deferred', 0, state.deadlineAt)
      expect(`deferring ${held.messageId}`, answer, isHeld ? 'deferred' : 'lease_lost')
    },
    ask({ messageId, token, state }, { kind }) {
      const isHeld = owners.get(messageId)?.ask({ messageId, token }, state.askedAt)
      expect(`asking of ${messageId}`, kind, isHeld ? 'recorded' : 'lease_lost')
    },
    changeInput({ messageId, state, now }, changed) {
      // The model does not know which question is open, nor its due time.
      if (changed?.kind !== 'changed' || state.kind === 'input_required') return
      const [model, message] = known(messageId) ?? []
      const until = state.kind === 'queued' ? state.notBefore : 0
      const waited = message && model?.endWait(message, state.kind, now, until)
      expect(`the wait of ${messageId}`, waited, true)
    },
    recordRun({ messageId, token, state, now }, { kind }) {
      const until = state.kind === 'queued' ? state.notBefore : 0
      const isHeld = owners.get(messageId)?.finish({ messageId, token }, state.kind, now, until)
      expect(`recording ${state.kind} of ${messageId}`, kind, isHeld ? 'recorded' : 'lease_lost')
    },
    cancel({ messageId, state }, cancelled) {
      const [model, message] = known(messageId) ?? []
      expect(
        `cancelling ${messageId}`,
        cancelled?.kind,
        message && model?.cancel(message, state.cancelledAt),
      )
    },
    retry({ messageId, now }, retried) {
      if (retried?.kind === 'agent_not_running') return
      const [model, message] = known(messageId) ?? []
      expect(`retrying ${messageId}`, retried?.kind, message && model?.retry(message, now))
    },
  }

  return {
    breaches,
    observe: (method, [asked, until], answer) => {
      if (method === 'moveTimes' && (answer as MoveResult).hasMoved)
        for (const model of models.values()) model.moveTimes(asked as ClockJump)
      const [store, name = ''] = method.split('.')
      const watch =
        store === 'messages' && Object.hasOwn(watchers, name)
          ? watchers[name as Watched]
          : undefined
      watch?.(asked as never, answer as never, until as never)
    },
  }
}

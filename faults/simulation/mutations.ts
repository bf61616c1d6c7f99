import type { DeliveryStore, MessageStore, Storage } from '@org/agent-messaging-core/storage'
import type { WebhookSender } from '@org/agent-messaging-core/runtime'
import { accepted } from '@org/agent-messaging-core/testing'
import { okAsync } from 'neverthrow'

/** A fault of the product, planted between the core and its ports: what the store does, or what the core asks of it or of the sender. */
export type Mutation = {
  store?(storage: Storage): Storage
  core?(storage: Storage): Storage
  sender?(sender: WebhookSender): WebhookSender
}

const inMessages = (change: (messages: MessageStore) => Partial<MessageStore>): Mutation => ({
  store: (storage) => ({
    ...storage,
    messages: { ...storage.messages, ...change(storage.messages) },
  }),
})
const inDeliveries = (change: (deliveries: DeliveryStore) => Partial<DeliveryStore>): Mutation => ({
  store: (storage) => ({
    ...storage,
    deliveries: { ...storage.deliveries, ...change(storage.deliveries) },
  }),
})

/** Each breaks a promise: the simulation is as good as the seeds are few that it takes to notice. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'the idempotency key is ignored': inMessages(({ accept }) => ({
    accept: ({ idempotencyKey: _, ...message }) => accept(message),
  })),

  'a message is acknowledged before it is kept, and now and then not kept': inMessages(
    ({ accept }) => {
      let accepts = 0
      return {
        accept: (message) => {
          if (++accepts % 5 > 0) return accept(message)
          const { claimUntil: _, idempotencyKey: __, now, ...facts } = message
          return okAsync({
            kind: 'created',
            message: {
              ...facts,
              attempt: 0,
              state: { kind: 'queued', notBefore: now },
              createdAt: now,
            },
          })
        },
      }
    },
  ),

  'a superseded token is taken for the newest one': inMessages(({ recordRun, getHeld }) => ({
    recordRun: (run) =>
      getHeld(run.messageId).andThen((held) =>
        recordRun({ ...run, token: held?.token ?? run.token }),
      ),
  })),

  'a lease is taken from who has it': inMessages(({ claimRunnable }) => ({
    claimRunnable: ({ now, ...query }) => claimRunnable({ ...query, now: now + 5_000 }),
  })),

  'a session hands out its next message while the first is deferred': inMessages(
    ({ recordRun }) => ({
      defer: (deferral) =>
        recordRun({
          ...deferral,
          state: { kind: 'failed', error: { code: 'RUNTIME_LOST', message: '' }, failedAt: 0 },
          now: 0,
        }).map(({ kind }) => (kind === 'recorded' ? 'deferred' : kind)),
    }),
  ),

  'a write that is repeated forgets its event': {
    core: (storage) => {
      const asked = new Set<string>()
      return {
        ...storage,
        messages: {
          ...storage.messages,
          recordRun: ({ outgoing, ...run }) => {
            const name = `${run.messageId} ${run.token}`
            const isRepeated = asked.has(name)
            asked.add(name)
            return storage.messages.recordRun({
              ...run,
              ...(outgoing && !isRepeated && { outgoing }),
            })
          },
        },
      }
    },
  },

  'a cancellation is acknowledged, and not made': inMessages(({ cancel, get }) => {
    let cancels = 0
    return {
      cancel: (cancellation) =>
        ++cancels % 2 > 0
          ? cancel(cancellation)
          : get(cancellation).map(
              (message) =>
                message && { kind: 'cancelled', message, deliveries: [], sessionWaits: false },
            ),
    }
  }),

  'an outcome is recorded as a success whatever it was': inDeliveries(({ recordAttempt }) => ({
    recordAttempt: (record) =>
      recordAttempt({
        ...record,
        state: { kind: 'delivered', deliveredAt: record.attempt.startedAt },
      }),
  })),

  'the schedule is not waited for': inDeliveries(({ recordAttempt }) => ({
    recordAttempt: ({ state, ...record }) =>
      recordAttempt({
        ...record,
        state:
          state.kind === 'pending' ? { ...state, nextAttemptAt: record.attempt.startedAt } : state,
      }),
  })),

  'a delivery that is being sent is claimed once more': inDeliveries(({ claimDue }) => ({
    claimDue: ({ now, ...query }) => claimDue({ ...query, now: now + 5_900 }),
  })),

  'an attempt is forgotten after it was made': inDeliveries(({ recordAttempt }) => {
    let attempts = 0
    return {
      recordAttempt: (record) =>
        ++attempts % 10 > 0 ? recordAttempt(record) : okAsync({ kind: 'recorded' }),
    }
  }),

  'a retry sends other bytes': inDeliveries(({ claimDue }) => ({
    claimDue: (query) =>
      claimDue(query).map((claimed) =>
        claimed.map((claim) =>
          claim.delivery.attemptCount > 0
            ? { ...claim, body: claim.body.replace('"createdAt"', '"sentAt"') }
            : claim,
        ),
      ),
  })),

  'a time-out counts as a success': {
    sender: ({ send, vet }) => ({
      vet,
      send: async (request) => {
        const outcome = await send(request)
        return outcome.kind === 'unreachable' ? accepted() : outcome
      },
    }),
  },
}

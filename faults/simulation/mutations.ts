import { success, type WebhookSender } from '@org/agent-messaging-core/runtime'
import {
  NO_CLAIMS,
  type AttemptRecord,
  type DeliveryStore,
  type EventStore,
  type MessageStore,
  type RecoveryTask,
  type Storage,
} from '@org/agent-messaging-core/storage'
import { accepted, mapped, unwrap } from '@org/agent-messaging-testing'

/** A defect between the core and its ports: of the store, of the core's calls, or of the sender. */
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

const inPublish = (
  change: (publish: EventStore['publish']) => EventStore['publish'],
): Mutation => ({
  store: (storage) => ({
    ...storage,
    events: { ...storage.events, publish: change(storage.events.publish) },
  }),
})

/** Changes which recoveries are created for one that sends events again. */
const inReplays = (change: (replay: RecoveryTask) => readonly RecoveryTask[]): Mutation => ({
  store: (storage) => ({
    ...storage,
    recoveries: {
      ...storage.recoveries,
      create: async (recovery, ...rest) => {
        const made = recovery.filter.webhookIds ? change(recovery) : [recovery]
        const [created] = await Promise.all(
          made.map((one) => storage.recoveries.create(one, ...rest)),
        )
        return created ?? success('created')
      },
    },
  }),
})

const inEachAttempt = (change: (record: AttemptRecord) => AttemptRecord): Mutation =>
  inDeliveries(({ recordAttempts }) => ({
    recordAttempts: (records) => recordAttempts(records.map(change)),
  }))

/** Defects that each break a promise. A good simulation needs few seeds to notice them. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'the idempotency key is ignored': inMessages(({ accept }) => ({
    accept: ({ idempotencyKey: _, ...message }) => accept(message),
  })),

  'some messages are acknowledged without being stored': inMessages(({ accept }) => {
    let accepts = 0
    return {
      accept: (message) => {
        if (++accepts % 5 > 0) return accept(message)
        const { claimUntil: _, idempotencyKey: __, now, ...facts } = message
        return Promise.resolve(
          success({
            kind: 'created',
            message: {
              ...facts,
              attempt: 0,
              state: { kind: 'queued', notBefore: now },
              createdAt: now,
            },
          }),
        )
      },
    }
  }),

  'a superseded token counts as the newest one': inMessages(({ recordRun, getHeld }) => ({
    recordRun: async (run) => {
      const held = unwrap(await getHeld(run.messageId))
      return recordRun({ ...run, token: held?.token ?? run.token })
    },
  })),

  'a lease is taken from its holder': inMessages(({ claimRunnable }) => ({
    claimRunnable: ({ now, ...query }) => claimRunnable({ ...query, now: now + 5_000 }),
  })),

  'a session hands out its next message while the first is deferred': inMessages(
    ({ recordRun }) => ({
      defer: (deferral) =>
        mapped(
          recordRun({
            ...deferral,
            state: { kind: 'failed', error: { code: 'RUNTIME_LOST', message: '' }, failedAt: 0 },
            now: 0,
          }),
          ({ kind }) => (kind === 'recorded' ? 'deferred' : kind),
        ),
    }),
  ),

  'a repeated write loses its event': {
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

  'a cancellation is acknowledged without being stored': inMessages(({ cancel, get }) => {
    let cancels = 0
    return {
      cancel: (cancellation) =>
        ++cancels % 2 > 0
          ? cancel(cancellation)
          : mapped(
              get(cancellation),
              (message) =>
                message && { kind: 'cancelled', message, ...NO_CLAIMS, sessionWaits: false },
            ),
    }
  }),

  'each outcome is recorded as a success': inEachAttempt((record) => ({
    ...record,
    state: { kind: 'delivered', deliveredAt: record.attempt.startedAt },
  })),

  'the schedule is ignored': inEachAttempt(({ state, ...record }) => ({
    ...record,
    state: state.kind === 'pending' ? { ...state, nextAttemptAt: record.attempt.startedAt } : state,
  })),

  'a delivery is claimed again during its attempt': inDeliveries(({ claimDue }) => ({
    claimDue: ({ now, ...query }) => claimDue({ ...query, now: now + 5_900 }),
  })),

  'an attempt is not recorded': inDeliveries(({ recordAttempts }) => {
    let calls = 0
    return {
      recordAttempts: (records) =>
        ++calls % 10 > 0
          ? recordAttempts(records)
          : Promise.resolve(success(records.map(() => ({ kind: 'recorded' }) as const))),
    }
  }),

  'a count of an answer is lost': inMessages(({ recordRun }) => ({
    recordRun: ({ count: _, ...run }) => recordRun(run),
  })),

  'a count of an attempt is doubled': inEachAttempt(({ count, ...record }) => ({
    ...record,
    ...(count && { count: { ...count, counts: { ...count.counts, attempts: 2 } } }),
  })),

  'a delivery counts at the start of its attempt': inEachAttempt(({ endCount, ...record }) => ({
    ...record,
    ...(endCount && { endCount: { ...endCount, at: record.attempt.startedAt } }),
  })),

  'the order of a session is ignored': {
    store: (storage) => ({
      ...storage,
      webhooks: {
        ...storage.webhooks,
        create: (webhook, limit) =>
          storage.webhooks.create({ ...webhook, ordering: 'none' }, limit),
      },
    }),
  },

  'a retry sends other bytes': inDeliveries(({ claimDue }) => ({
    claimDue: (query) =>
      mapped(claimDue(query), (claimed) => ({
        ...claimed,
        deliveries: claimed.deliveries.map((claim) =>
          claim.delivery.attemptCount > 0
            ? { ...claim, body: claim.body.replace('"createdAt"', '"sentAt"') }
            : claim,
        ),
      })),
  })),

  'some published events are acknowledged without being stored': inPublish((publish) => {
    let publishes = 0
    return (publication) =>
      ++publishes % 5 > 0
        ? publish(publication)
        : Promise.resolve(success({ kind: 'published', events: 0, ...NO_CLAIMS }))
  }),

  'the content of a known id is not compared': inPublish(
    (publish) => (publication) =>
      mapped(publish(publication), (stored) =>
        stored.kind === 'mismatch' ? { kind: 'replayed' } : stored,
      ),
  ),

  'a repeated publish is answered as a new one': inPublish(
    (publish) => (publication) =>
      mapped(publish(publication), (stored) =>
        stored.kind === 'replayed' ? { kind: 'published', events: 0, ...NO_CLAIMS } : stored,
      ),
  ),

  'a batch is not one commit': inPublish((publish) => async ({ outgoing, ...publication }) => {
    const [first, ...others] = outgoing.events
    const some = first ? [first] : []
    const stored = await publish({ ...publication, outgoing: { ...outgoing, events: some } })
    if (others.length === 0) return stored
    const { claim: _, ...unclaimed } = outgoing
    return publish({ ...publication, outgoing: { ...unclaimed, events: others } })
  }),

  'a batch changes its order': inPublish(
    (publish) =>
      ({ outgoing, ...publication }) =>
        publish({
          ...publication,
          outgoing: { ...outgoing, events: outgoing.events.toReversed() },
        }),
  ),

  'a replay leaves out the newest events': inReplays((replay) => [
    { ...replay, filter: { ...replay.filter, createdBefore: replay.createdAt - 2_000 } },
  ]),

  'a replay is made twice': inReplays((replay) => [replay, { ...replay, id: `${replay.id}-2` }]),

  'a filter is ignored': {
    store: (storage) => ({
      ...storage,
      webhooks: {
        ...storage.webhooks,
        create: ({ filter: _, ...webhook }, limit) => storage.webhooks.create(webhook, limit),
      },
    }),
  },

  'an erasure of a person leaves the deliveries': inDeliveries(() => ({
    erasePrincipal: () => Promise.resolve(success({ deliveries: 0 })),
  })),

  'a timeout counts as a success': {
    sender: ({ send, vet }) => ({
      vet,
      send: async (request) => {
        const outcome = await send(request)
        return outcome.kind === 'unreachable' ? accepted() : outcome
      },
    }),
  },
}

import { describe, expect, it } from 'vitest'
import { check } from './check.js'
import { DAY_MS } from './counts.js'
import type { History } from './history.js'
import { summarize } from './summary.js'
import { validHistory } from './valid-history.js'

type Writable<T> = T extends object ? { -readonly [Key in keyof T]: Writable<T[Key]> } : T
type Draft = Writable<History>

/** Returns the row of the history that the test changes. */
function the<Row>(rows: Row[], fits: (row: Row) => boolean): Row {
  const row = rows.find(fits)
  if (row === undefined) throw new Error('the valid history has changed: no such row')
  return row
}
const message = ({ final }: Draft, id: string) =>
  the(final.messages, ({ messageId }) => messageId === id)
const delivery = ({ final }: Draft, id: string) =>
  the(final.deliveries, ({ deliveryId }) => deliveryId === id)
const attempt = (history: Draft, id: string, n: number) =>
  the(delivery(history, id).attempts, ({ attemptNumber }) => attemptNumber === n)
const received = (history: Draft, id: string) =>
  the(history.received, ({ headers }) => headers['webhook-id'] === id)
const event = ({ events = [] }: Draft['final'], id: string) =>
  the(events, ({ text }) => text === id)
const publish = ({ published = [] }: Draft, at: number) =>
  the(
    [the(published, (one) => one.at === at).answer].flatMap((answer) => answer ?? []),
    () => true,
  )
const drop = <Row>(rows: Row[], fits: (row: Row) => boolean) =>
  void rows.splice(rows.indexOf(the(rows, fits)), 1)

/** Removes an event with its delivery. */
function dropEvent({ final, received: all }: Draft, id: string): void {
  drop(final.events ?? [], ({ text }) => text === id)
  drop(final.deliveries, ({ deliveryId }) => deliveryId === `w1-${id}`)
  drop(all, ({ headers }) => headers['webhook-id'] === `w1-${id}`)
}

/** Adds a delivery of the erased event. */
function leaveDelivery({ deliveries }: Draft['final']): void {
  const { body } = the(deliveries, ({ deliveryId }) => deliveryId === 'w1-x1')
  deliveries.push({ ...UNTRIED, deliveryId: 'left', body: body.replaceAll('x1', 'x4') })
}
const UNTRIED = { webhookId: 'w1', status: 'exhausted', attempts: [] }

/** Asks for the event x1 again. */
function replayX1(history: Draft): void {
  const asked = { webhookIds: ['w1'], types: ['order.*'], createdAfter: 0, createdBefore: 101 }
  history.replays = [{ at: 300, ...asked, isDone: true }]
}
function addReplayed({ deliveries }: Draft['final']): void {
  const { body } = the(deliveries, ({ deliveryId }) => deliveryId === 'w1-x1')
  const deliveryId = `again-${deliveries.length}`
  deliveries.push({ ...UNTRIED, deliveryId, body, isReplayed: true })
}

/** Changes of the valid history, one for each kind of violation. */
const planted: readonly (readonly [
  invariant: string,
  breach: string,
  plant: (history: Draft) => void,
])[] = [
  [
    'acknowledged',
    'an acknowledged message does not exist',
    ({ requests }) => {
      requests.push({
        kind: 'send',
        at: 1,
        agent: 'a',
        sessionId: 's',
        message: 'hi',
        answer: { at: 2, status: 202, messageId: 'm9' },
      })
    },
  ],
  [
    'acknowledged',
    'the stored text differs from the sent text',
    (history) => void (message(history, 'm1').message = 'another'),
  ],
  [
    'acknowledged',
    'a read does not find an accepted message',
    ({ requests }) => {
      requests.push({
        kind: 'read',
        at: 1,
        agent: 'a',
        messageId: 'm1',
        answer: { at: 2, status: 404 },
      })
    },
  ],
  [
    'one-per-key',
    'a client gets two message ids for one key',
    ({ requests }) => {
      const answer = { at: 2, status: 202, messageId: 'm2' }
      requests.push({
        kind: 'send',
        at: 1,
        agent: 'a',
        key: 'key m1',
        sessionId: 's',
        message: 'text m2',
        answer,
      })
    },
  ],
  [
    'one-per-key',
    'two messages have one key',
    (history) => void (message(history, 'm2').key = 'key m1'),
  ],
  [
    'one-per-key',
    'a client gets an answer that is not the final one',
    ({ requests }) => {
      requests.push({
        kind: 'read',
        at: 1,
        agent: 'a',
        messageId: 'm1',
        answer: { at: 2, status: 200, messageId: 'm1', response: 'an earlier one' },
      })
    },
  ],
  [
    'outbox',
    'a webhook has no delivery of an answer',
    (history) => {
      drop(history.final.deliveries, ({ deliveryId }) => deliveryId === 'w2-m1')
      drop(history.received, ({ headers }) => headers['webhook-id'] === 'w2-m1')
      history.final.purgedBefore = 1_500
    },
  ],
  [
    'outbox',
    'one event has two deliveries to one webhook',
    (history) => {
      history.final.deliveries.push({
        ...delivery(history, 'w1-m3'),
        deliveryId: 'again',
        status: 'exhausted',
        attempts: [],
      })
      drop(history.final.messages, ({ messageId }) => messageId === 'm3')
      history.final.messages.push({ ...message(validHistory() as Draft, 'm3') })
    },
  ],
  [
    'circuit-reports',
    'a circuit that opened once is reported twice',
    ({ final }) => {
      for (const id of ['e1', 'e2'])
        final.deliveries.push({
          deliveryId: id,
          webhookId: 'w1',
          status: 'exhausted',
          body: JSON.stringify({ event: 'webhook.failing', id, data: { webhookId: 'w2' } }),
          attempts: [],
        })
    },
  ],
  [
    'outbox',
    'a webhook gets an event without a subscription',
    ({ final }) =>
      void (the(final.webhooks, ({ webhookId }) => webhookId === 'w1').events = [
        'message.responded',
      ]),
  ],
  [
    'drained',
    'a message does not end',
    (history) => {
      Object.assign(message(history, 'm3'), { state: 'queued' })
      drop(history.final.deliveries, ({ deliveryId }) => deliveryId === 'w1-m3')
      drop(history.received, ({ headers }) => headers['webhook-id'] === 'w1-m3')
    },
  ],
  [
    'drained',
    'a delivery does not end',
    (history) => void (delivery(history, 'w1-m1').status = 'pending'),
  ],
  [
    'schedule',
    'an attempt has a wrong number',
    (history) => void (the(delivery(history, 'w2-m2').attempts, () => true).attemptNumber = 3),
  ],
  [
    'schedule',
    'an attempt follows a success',
    (history) => {
      const { attempts } = delivery(history, 'w1-m3')
      attempts.push({ attemptNumber: 2, startedAt: 45_000, durationMs: 1, outcome: 'unreachable' })
    },
  ],
  [
    'schedule',
    'a second attempt comes too early',
    (history) => void (attempt(history, 'w2-m2', 2).startedAt = 21_000),
  ],
  [
    'schedule',
    'an attempt ignores Retry-After',
    (history) =>
      void Object.assign(received(history, 'w2-m2').answer ?? {}, { retryAfterMs: 30_000 }),
  ],
  [
    'delivered',
    'a delivery is delivered, but its receiver failed',
    (history) => {
      Object.assign(received(history, 'w1-m3').answer ?? {}, { status: 500 })
      Object.assign(attempt(history, 'w1-m3', 1), { statusCode: 500, outcome: 'refused' })
    },
  ],
  [
    'delivered',
    'a recorded answer was never given',
    (history) => void (attempt(history, 'w2-m2', 1).receipt = 'made up'),
  ],
  [
    'delivered',
    'a request is repeated without a fault',
    (history) => {
      history.received.push({
        ...received(history, 'w1-m3'),
        at: 60_000,
        receipt: 'repeated',
        answer: { at: 60_001, status: 200 },
      })
    },
  ],
  [
    'delivered',
    'a request is repeated more often than faults explain',
    (history) => {
      history.received.push({
        ...received(history, 'w1-m1'),
        at: 1_170,
        receipt: 'repeated',
        answer: { at: 1_171, status: 200 },
      })
    },
  ],
  [
    'same-bytes',
    'a signature does not match the bytes',
    (history) => void (received(history, 'w1-m3').headers['x-service-signature'] = 'sha256=0'),
  ],
  [
    'same-bytes',
    'the Standard Webhooks signature has another timestamp',
    (history) => void (received(history, 'w1-m3').headers['webhook-timestamp'] = '6'),
  ],
  [
    'same-bytes',
    'the stored bytes differ from the sent bytes',
    (history) => {
      delivery(history, 'w1-m3').body = delivery(history, 'w1-m3').body.replace(
        '"createdAt":""',
        '"createdAt":"x"',
      )
    },
  ],
  [
    'session-order',
    'a message runs before the end of the one before it',
    ({ runs }) => {
      the(runs, ({ messageId }) => messageId === 'm3').startedAt = 2_400
    },
  ],
  [
    'session-order',
    'a message runs at the same time as the failing one before it',
    ({ final }) => void final.messages.reverse(),
  ],
  [
    'delivery-order',
    'a delivery is sent before the one ahead of it in its session',
    (history) => {
      delivery(history, 'w1-m2').place = 9
    },
  ],
  ['published', 'an accepted event is not in the log', (history) => dropEvent(history, 'x1')],
  [
    'published',
    'an event is in the log twice',
    ({ final }) => void final.events?.push(event(final, 'x2')),
  ],
  [
    'published',
    'an id is in the log twice',
    ({ final }) => void final.events?.push({ ...event(final, 'x2'), text: 'another' }),
  ],
  [
    'published',
    'the stored event differs',
    ({ final }) => void (event(final, 'x1').sessionId = 'another'),
  ],
  [
    'published',
    'a repeated request is not a replay',
    (history) => void (publish(history, 120).replayed = false),
  ],
  [
    'published',
    'two same requests at once are both new',
    (history) => {
      const { published = [] } = history
      published.push({ ...the(published, ({ at }) => at === 180), at: 181 })
    },
  ],
  [
    'published',
    'an id is accepted with other content',
    (history) => void (publish(history, 140).status = 202),
  ],
  [
    'published',
    'a right request is refused as a wrong one',
    (history) => void (publish(history, 120).status = 422),
  ],
  [
    'published',
    'a right request is refused',
    (history) => void (publish(history, 120).status = 400),
  ],
  [
    'published',
    'a batch is stored in part',
    (history) => {
      publish(history, 180).status = 503
      dropEvent(history, 'x3')
    },
  ],
  [
    'published',
    'a batch is in the log in another order',
    ({ final }) => void final.events?.push(...final.events.splice(1, 1)),
  ],
  [
    'published',
    'a session is in the log in another order',
    ({ final }) => void final.events?.push(...final.events.splice(0, 1)),
  ],
  [
    'published',
    'an erased event is in the log',
    ({ final }) => {
      final.events?.push({ ...event(final, 'x1'), id: 'id of x4', text: 'x4' })
      leaveDelivery(final)
    },
  ],
  ['published', 'an erased event has a delivery', ({ final }) => leaveDelivery(final)],
  [
    'outbox',
    'a webhook has no delivery of a published event',
    ({ final, received: all }) => {
      drop(final.deliveries, ({ deliveryId }) => deliveryId === 'w1-x1')
      drop(all, ({ headers }) => headers['webhook-id'] === 'w1-x1')
    },
  ],
  [
    'outbox',
    'a webhook gets an event that its filter refuses',
    ({ final }) => void (the(final.webhooks, ({ webhookId }) => webhookId === 'w1').kind = 'small'),
  ],
  ['replayed', 'a replay makes no delivery', (history) => replayX1(history)],
  ['replayed', 'a delivery is made by no replay', ({ final }) => addReplayed(final)],
  [
    'replayed',
    'a replay makes two deliveries',
    (history) => {
      replayX1(history)
      addReplayed(history.final)
      addReplayed(history.final)
    },
  ],
  ['counts', 'a count is lost', ({ counted }) => void counted?.rows.pop()],
  ['counts', 'nothing is counted', ({ counted }) => void counted?.rows.splice(0)],
  [
    'counts',
    'a message is counted twice',
    ({ counted }) => Object.assign(counted?.rows[0] ?? {}, { counts: { messages: 3 } }),
  ],
  [
    'counts',
    'a message is counted on another day',
    ({ counted }) => Object.assign(counted?.facts[0] ?? {}, { at: DAY_MS + 1 }),
  ],
  [
    'fencing',
    'the answer of a run without a lease is stored',
    (history) => {
      const last = the(history.runs, ({ messageId, attempt: n }) => messageId === 'm2' && n === 2)
      const lost = the(history.runs, ({ messageId, attempt: n }) => messageId === 'm2' && n === 1)
      Object.assign(lost, { endedAt: 2_210, response: last.response })
      last.response = 'refused'
    },
  ],
  [
    'fencing',
    'an answer belongs to no run',
    (history) =>
      void (the(history.runs, ({ messageId }) => messageId === 'm1').response = 'another'),
  ],
  [
    'fencing',
    'a message runs twice without a fault',
    ({ runs }) => {
      const run = the(runs, ({ messageId }) => messageId === 'm3')
      runs.push({ ...run, startedAt: 39_000, attempt: 0, endedAt: 39_001, response: 'first' })
    },
  ],
  [
    'fencing',
    'one attempt runs twice',
    ({ runs }) => void runs.push({ ...the(runs, ({ messageId }) => messageId === 'm1') }),
  ],
]

describe('the checker', () => {
  it('finds nothing in a valid history with faults', () => {
    expect(check(validHistory())).toEqual([])
  })

  it.each(planted)('%s: finds that %s', (invariant, _breach, plant) => {
    const history = validHistory()
    plant(history as Draft)
    expect(new Set(check(history).map((violation) => violation.invariant))).toEqual(
      new Set([invariant]),
    )
  })

  it('accepts a missing delivery if it was purged after its receiver accepted it', () => {
    const history = validHistory() as Draft
    drop(history.final.deliveries, ({ deliveryId }) => deliveryId === 'w2-m1')
    history.final.purgedBefore = 1_500
    expect(check(history)).toEqual([])
  })

  it('does not count cut or late answers as duplicates', () => {
    const history = validHistory() as Draft
    const request = received(history, 'w1-m3')
    history.received.push({
      ...request,
      at: 60_000,
      receipt: 'slow',
      answer: { at: 60_700, status: 200 },
    })
    const { answer: _, ...cut } = request
    history.received.push({ ...cut, at: 61_000, receipt: 'cut' })
    expect(check(history)).toEqual([])
  })

  it('allows stored times to differ by the difference of the clocks', () => {
    const history = validHistory() as Draft
    attempt(history, 'w2-m2', 2).startedAt = 21_000
    history.faults.push({ kind: 'clock', at: 100_000, until: 110_000, byMs: -2_000 })
    expect(check(history)).toEqual([])
  })
})

describe('the checker, after actions of users', () => {
  it('allows the delivery of a replay, out of order', () => {
    const history = validHistory() as Draft
    replayX1(history)
    addReplayed(history.final)
    expect(check(history)).toEqual([])
  })

  it('counts attempts from 1 after a retry, and expects a report of the earlier end', () => {
    const history = validHistory() as Draft
    const first = the(history.runs, ({ messageId }) => messageId === 'm3')
    history.runs.push({ ...first, retries: 1, startedAt: 45_000, endedAt: 45_100 })
    Object.assign(message(history, 'm3'), { retries: 1 })
    expect(check(history).map(({ invariant, of }) => [invariant, of])).toEqual([
      ['outbox', 'm3'],
      ['outbox', 'm3'],
    ])
    for (const deliveryId of ['w1-m3', 'w1-m3-message.failed']) {
      const report = delivery(history, deliveryId)
      const body = report.body
        .replace('"id":"', '"id":"again ')
        .replace('message.failed', 'message.cancelled')
      history.final.deliveries.push({
        ...report,
        deliveryId: `${deliveryId} again`,
        body,
        status: 'cancelled',
        attempts: [],
      })
    }
    expect(check(history)).toEqual([])
  })

  it('allows a temporary webhook to miss events', () => {
    const history = validHistory() as Draft
    history.final.webhooks.push({
      webhookId: 'w3',
      events: ['*'],
      secret: 'a secret',
      isTemporary: true,
    })
    expect(check(history)).toEqual([])
  })

  it('allows an attempt before its time after a redelivery request', () => {
    const history = validHistory() as Draft
    attempt(history, 'w2-m2', 2).startedAt = 20_700
    expect(check(history)).not.toEqual([])
    delivery(history, 'w2-m2').redeliveredAt = [20_650]
    expect(check(history)).toEqual([])
  })

  it('allows a late success of a superseded claim during a fault', () => {
    const history = validHistory() as Draft
    attempt(history, 'w2-m2', 2).startedAt = 15_000
    attempt(history, 'w2-m2', 2).durationMs = 7_000
    expect(check(history)).not.toEqual([])
    history.faults.push({ kind: 'a process is frozen', at: 17_000, until: 18_000 })
    expect(check(history)).toEqual([])
  })
})

describe('the summary of a run', () => {
  it('counts accepted, answered, delivered and repeated messages', () => {
    expect(summarize(validHistory())).toEqual({
      seed: 1,
      faults: { kill: 1 },
      requests: 5,
      accepted: 3,
      answered: 2,
      delivered: 9,
      received: 11,
      duplicates: 1,
      repeats: { perKill: 0, most: 0 },
      lost: 0,
      events: { accepted: 3, replays: 1, refused: 1, lost: 0, doubled: 0, erased: 1 },
    })
  })

  it('counts events that are not in the log, did not arrive, or are there twice', () => {
    const history = validHistory() as Draft
    drop(history.received, ({ headers }) => headers['webhook-id'] === 'w1-x1')
    drop(history.final.events ?? [], ({ text }) => text === 'x2')
    history.final.events?.push(event(history.final, 'x3'))
    expect(summarize(history).events).toMatchObject({ accepted: 3, lost: 2, doubled: 1 })
  })

  it('counts missing messages and undelivered reports as lost', () => {
    const history = validHistory() as Draft
    drop(history.final.messages, ({ messageId }) => messageId === 'm1')
    drop(history.received, ({ headers }) => headers['webhook-id'] === 'w1-m3')
    expect(summarize(history).lost).toBe(2)
  })

  it('counts the deliveries that were accepted again after a kill', () => {
    const faults = [
      { kind: 'kill', at: 1_155, until: 1_160 },
      { kind: 'kill', at: 2_150, until: 2_300 },
    ]
    const { repeats } = summarize({ ...validHistory(), faults })
    expect(repeats).toEqual({ perKill: 0.5, most: 1 })
  })
})

import { createHmac } from 'node:crypto'
import type {
  AgentRun,
  AskedEvent,
  ClientRequest,
  Counted,
  FinalDelivery,
  FinalEvent,
  FinalMessage,
  History,
  PublishRequest,
  ReceivedRequest,
} from './history.js'
import { DAY_MS, STEPS_MS } from './counts.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ACCEPTED = { subject: 'agent', id: 'a', counts: { messages: 1 } } as const
const COUNTED: Counted = {
  facts: [1, 2, DAY_MS].map((at) => ({ ...ACCEPTED, at })),
  rows: [ACCEPTED, { ...ACCEPTED, subject: 'project' as const, id: '' }].flatMap((row) =>
    STEPS_MS.flatMap((stepMs) => [
      { ...row, stepMs, at: 0, counts: { messages: 2 } },
      { ...row, stepMs, at: DAY_MS },
    ]),
  ),
}
const WEBHOOKS = [
  { webhookId: 'w1', events: ['*'], secret: SECRET, isOrdered: true },
  { webhookId: 'w2', events: ['message.responded'], secret: SECRET },
]

const EVENTS = ['x1', 'x2', 'x3'].map((text, n) => ({
  type: 'order.paid',
  text,
  id: `id of ${text}`,
  sessionId: 'orders',
  createdAt: 100 + n,
}))
const GONE = { type: 'order.paid', text: 'x4', id: 'id of x4', endUserId: 'p' }

/** x1 was published twice, and refused with another content. x2 and x3 are one batch. */
function publishing(): { published: PublishRequest[]; events: FinalEvent[] } {
  const [x1, ...batch] = EVENTS as [FinalEvent, FinalEvent, FinalEvent]
  const request = (at: number, events: readonly AskedEvent[], status = 202, replayed = false) => ({
    at,
    events,
    answer: { at: at + 10, status, replayed },
  })
  return {
    published: [
      request(100, [x1]),
      request(120, [x1], 202, true),
      request(140, [{ ...x1, text: 'wrong' }], 422),
      { at: 160, events: batch },
      request(180, batch),
      request(200, [GONE]),
    ],
    events: EVENTS.map((event) => ({ ...event })),
  }
}

type Story = {
  requests: ClientRequest[]
  received: ReceivedRequest[]
  runs: AgentRun[]
  messages: FinalMessage[]
  deliveries: FinalDelivery[]
}

/**
 * Returns a history with faults and without violations, for tests to change. m1 was sent twice. m2
 * ran twice because of a kill. m3 failed. A delivery of m1 was repeated because of the same kill. A
 * delivery of m2 was refused once. The events x1 to x3 were published, and x4 was erased.
 */
export function validHistory(): History {
  const story: Story = { requests: [], received: [], runs: [], messages: [], deliveries: [] }
  message(story, { id: 'm1', at: 1_000, runs: 1, sends: 2 })
  message(story, { id: 'm2', at: 2_000, runs: 2, sends: 1 })
  message(story, { id: 'm3', at: 40_000, runs: 1, sends: 1, fails: true })
  const { requests, received, runs, messages, deliveries } = story
  const { published, events } = publishing()
  deliver(story, { webhookId: 'w1', messageId: 'm1', at: 1_200, unrecordedAt: [1_150] })
  deliver(story, { webhookId: 'w2', messageId: 'm1', at: 1_200 })
  deliver(story, { webhookId: 'w1', messageId: 'm2', at: 2_600 })
  deliver(story, { webhookId: 'w2', messageId: 'm2', at: 22_000, refusedAt: 20_600 })
  deliver(story, { webhookId: 'w1', messageId: 'm3', at: 40_300 })
  deliver(story, { webhookId: 'w1', messageId: 'm3', at: 40_300, event: 'message.failed' })
  for (const [n, event] of events.entries()) deliverEvent(story, event, 300 + 20 * n)
  requests.push({
    kind: 'read',
    at: 50_000,
    agent: 'a',
    messageId: 'm1',
    answer: { at: 50_001, status: 200, messageId: 'm1', response: 're m1 1' },
  })
  return structuredClone({
    seed: 1,
    rules: {
      delaysMs: [1e3, 1e3],
      deliveryTimeoutMs: 500,
      deliveryLeaseMs: 1e3,
      runLeaseMs: 1e3,
    },
    requests,
    published,
    erasures: [{ at: 220, endUserId: 'p', isDone: true }],
    received,
    runs,
    faults: [
      {
        kind: 'kill',
        at: 2150,
        until: 2300,
      },
    ],
    final: {
      messages,
      webhooks: WEBHOOKS,
      deliveries,
      events,
    },
    counted: COUNTED,
  })
}

type Told = {
  readonly id: string
  readonly at: number
  readonly runs: number
  readonly sends: number
  readonly fails?: boolean
}

function message(
  { requests, runs, messages }: Story,
  { id, at, runs: attempts, sends, fails = false }: Told,
): void {
  const agent = 'a'
  const sessionId = 's'
  const key = `key ${id}`
  const response = `re ${id} ${attempts}`
  for (let n = 0; n < sends; n++) {
    const lost = n < sends - 1
    const answer = {
      at: at + 200,
      status: fails ? 202 : 200,
      messageId: id,
      ...(!fails && { response }),
    }
    requests.push({
      kind: 'send',
      at: at + n,
      agent,
      key,
      sessionId,
      message: `text ${id}`,
      ...(!lost && { answer }),
    })
  }
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const isLast = attempt === attempts
    const end = isLast ? { endedAt: at + attempt * 250, ...(!fails && { response }) } : {}
    runs.push({
      messageId: id,
      sessionId,
      agent,
      attempt,
      startedAt: at + attempt * 250 - 100,
      ...end,
    })
  }
  const state = fails ? { state: 'failed' } : { state: 'responded', response }
  messages.push({
    messageId: id,
    agent,
    sessionId,
    message: `text ${id}`,
    key,
    ...state,
    attempt: attempts,
    endedAt: at + 200,
  })
}

type Sent = {
  readonly webhookId: string
  readonly messageId: string
  readonly at: number
  readonly refusedAt?: number
  readonly unrecordedAt?: readonly number[]
  readonly event?: string
}

function deliver(
  { received, deliveries, messages }: Story,
  { webhookId, messageId, at, refusedAt, unrecordedAt = [], event: name }: Sent,
): void {
  const deliveryId = [webhookId, messageId, name].filter(Boolean).join('-')
  const failed = messages.find((one) => one.messageId === messageId)?.state === 'failed'
  const event = name ?? (failed ? 'agent.error' : 'message.responded')
  const body = JSON.stringify({
    event,
    id: `e-${messageId}-${event}`,
    createdAt: '',
    data: { messageId, agentId: 'a', sessionId: 's' },
  })
  const request = (time: number, status: number): ReceivedRequest => ({
    at: time,
    webhookId,
    headers: signed(deliveryId, body),
    body,
    receipt: `${deliveryId} at ${time}`,
    answer: {
      at: time + 5,
      status,
    },
  })
  received.push(...unrecordedAt.map((time) => request(time, 200)))
  const recorded =
    refusedAt === undefined ? [request(at, 200)] : [request(refusedAt, 500), request(at, 200)]
  received.push(...recorded)
  const attempts = recorded.map((one, index) => ({
    attemptNumber: index + 1,
    startedAt: one.at - 1,
    durationMs: 10,
    receipt: one.receipt,
    outcome: one.answer?.status === 200 ? 'accepted' : 'refused',
    statusCode: one.answer?.status ?? 0,
  }))
  const place = deliveries.length + 1
  deliveries.push({ deliveryId, webhookId, status: 'delivered', body, place, attempts })
}

/** A delivery of a published event to w1, which arrived at once. */
function deliverEvent({ received, deliveries }: Story, event: FinalEvent, at: number): void {
  const { id, type, text, sessionId } = event
  const deliveryId = `w1-${text}`
  const receipt = `${deliveryId} at ${at}`
  const body = JSON.stringify({ event: type, id, createdAt: '', data: { text, sessionId } })
  received.push({
    at,
    webhookId: 'w1',
    headers: signed(deliveryId, body),
    body,
    receipt,
    answer: { at: at + 5, status: 200 },
  })
  deliveries.push({
    deliveryId,
    webhookId: 'w1',
    status: 'delivered',
    body,
    place: deliveries.length + 1,
    attempts: [
      {
        attemptNumber: 1,
        startedAt: at - 1,
        durationMs: 10,
        receipt,
        outcome: 'accepted',
        statusCode: 200,
      },
    ],
  })
}

function signed(deliveryId: string, body: string): Record<string, string> {
  const standard = createHmac('sha256', Buffer.alloc(32, 7))
    .update(`${deliveryId}.5.${body}`)
    .digest('base64')
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': '5',
    'webhook-signature': `v1,${standard}`,
    'x-service-signature': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
  }
}

import { aMessage, aWebhook } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import type { LastFailure, Outcome, WebhookDelivery } from '../webhooks/delivery.js'
import type { ReadWebhook } from '../webhooks/webhook.js'
import type { Message, MessageState } from './message.js'
import type { MessageRun } from './past-run.js'
import type { RunError } from './run.js'
import {
  missingStory,
  storyOf,
  storyOfDelivery,
  storyOfEvent,
  type Receivers,
  type SentDelivery,
  type Story,
  type StoryCause,
  type StoryFacts,
} from './story.js'

const AGENT = { id: 'a', projectId: 'p', name: 'billing' }
const running = { kind: 'running', startedAt: 0 } as const
/** A time of day. */
const at = (time: string): number => Date.parse(`2030-01-01T${time}:00.000Z`)
const now = at('15:00')
const error: RunError = { code: 'RUNTIME_ERROR', message: 'the ledger is closed' }

const facts = (given: Partial<StoryFacts> = {}): StoryFacts => ({
  message: aMessage(AGENT),
  agent: { name: 'billing', state: running },
  runs: [],
  now,
  ...given,
})
const inState = (state: MessageState, message: Partial<Message> = {}): Message =>
  aMessage(AGENT, { id: 'm', createdAt: at('14:00'), attempt: 1, state, ...message })
const run = (attempt: number, reason: MessageRun['reason'], more: Partial<MessageRun> = {}) => ({
  ...{ attempt, startedAt: at('14:01'), endedAt: at('14:02') },
  ...(reason && { reason }),
  ...more,
})

const shown = ({ text, sentences }: Story) => {
  const short = text.replaceAll(/2030-01-01T(\d\d:\d\d):00\.000Z/g, '$1')
  // The parts are the text.
  expect(sentences.map(({ parts }) => parts.map((part) => part.text).join('')).join(' ')).toBe(text)
  return [sentences.map(({ cause }) => cause), short]
}

const answered: MessageState = {
  kind: 'responded',
  response: 'Hi',
  respondedAt: at('14:47'),
  responseTimeMs: 5,
}
const failed: MessageState = { kind: 'failed', error, failedAt: at('14:47') }
const queued: MessageState = { kind: 'queued', notBefore: at('14:00') }
const asking: MessageState = {
  kind: 'input_required',
  askedAt: at('14:10'),
  deadlineAt: at('16:00'),
  dueAt: at('15:30'),
}
const question = { id: 'q', question: 'Pay “now”?\n', askedAt: at('14:10') }

describe('the side of the agent', () => {
  it.each<[readonly StoryCause[], string, Partial<StoryFacts>]>([
    [['answered'], 'Agent billing answered at 14:47.', { message: inState(answered) }],
    [
      ['failed'],
      'The message failed at 14:47 in run 1: RUNTIME_ERROR “the ledger is closed”.',
      { message: inState(failed) },
    ],
    [
      ['failed'],
      'The message failed at 14:47 in run 3.',
      { message: inState(failed, { attempt: 3 }), isForCustomer: true },
    ],
    [
      ['cancelled'],
      'The message was cancelled at 14:47.',
      { message: inState({ kind: 'cancelled', cancelledAt: at('14:47') }) },
    ],
    [
      ['asked'],
      "Agent billing asks a person since 14:10, until 16:00: “Pay 'now'?”",
      { message: inState(asking, { inputs: [question] }), isForCustomer: true },
    ],
    [
      ['asked'],
      'Agent billing asks a person since 14:10, until 16:00: ',
      { message: inState(asking) },
    ],
    [
      ['running'],
      'Agent billing works on it since 14:59.',
      { message: inState({ kind: 'running', startedAt: at('14:59') }), runs: [run(1, undefined)] },
    ],
    [
      ['run_failed', 'running'],
      'Run 1 ended as timed_out. Agent billing works on it since 14:59.',
      {
        message: inState(
          { kind: 'deferred', startedAt: at('14:59'), deadlineAt: at('16:00') },
          { attempt: 2 },
        ),
        runs: [run(1, 'timed_out')],
      },
    ],
    [
      ['run_failed', 'queued'],
      'Run 1 ended as failed: RUNTIME_ERROR “the ledger is closed”. The next run starts at 15:01.',
      {
        message: inState({ kind: 'queued', notBefore: at('15:01') }),
        runs: [run(1, 'failed', { error })],
      },
    ],
    [
      ['run_failed', 'queued'],
      'Run 1 ended as failed. The next run starts at 15:01.',
      {
        message: inState({ kind: 'queued', notBefore: at('15:01') }),
        runs: [run(1, 'failed', { error })],
        isForCustomer: true,
      },
    ],
    [
      ['retried', 'queued'],
      'A person retried the message. Its run before ended as cancelled. The message waits for a free slot of agent billing.',
      {
        message: inState(queued, { attempt: 0 }),
        runs: [{ attempt: 2, startedAt: at('14:01'), reason: 'cancelled' }],
      },
    ],
    [
      ['retried', 'running'],
      'A person retried the message. Its run before ended as lost. Agent billing works on it since 14:59.',
      {
        message: inState({ kind: 'running', startedAt: at('14:59') }),
        runs: [run(2, 'lost'), run(1, undefined)],
      },
    ],
    [
      ['retried', 'running'],
      'A person retried the message. Its run before ended as failed: RUNTIME_ERROR “the ledger is closed”. Agent billing works on it since 14:59.',
      {
        message: inState({ kind: 'running', startedAt: at('14:59') }),
        runs: [run(1, 'failed', { error }), run(1, undefined)],
      },
    ],
    [
      ['queued'],
      'The message waits for a free slot of agent billing.',
      { message: inState(queued), runs: [run(1, 'input_required')] },
    ],
    [
      ['queued'],
      'Message m0 of its session comes first, in state input_required.',
      { message: inState(queued, { attempt: 0 }), head: inState(asking, { id: 'm0' }) },
    ],
    [
      ['held_back'],
      'The message waits: agent billing is in state stopped.',
      {
        message: inState(queued, { attempt: 0 }),
        agent: { name: 'billing', state: { kind: 'stopped' } },
        head: inState(queued, { id: 'm0' }),
      },
    ],
    [
      ['held_back'],
      'The message waits: agent billing is in state error: RUNTIME_ERROR “the ledger is closed”.',
      {
        message: inState(queued, { attempt: 0 }),
        agent: { name: 'billing', state: { kind: 'error', lastError: error, failures: 1 } },
      },
    ],
  ])('%j: %s', (causes, text, given) =>
    expect(shown(storyOf(facts(given)))).toEqual([causes, text]),
  )

  it('says so if the message is not stored', () =>
    expect(shown(missingStory())).toEqual([
      ['erased'],
      'No message has this ID. It was erased or has expired, or never existed.',
    ]))
})

const delivery = (
  webhookId: string,
  state: WebhookDelivery['state'],
  more: Partial<WebhookDelivery> = {},
  outcome?: Outcome,
): SentDelivery => ({
  delivery: {
    ...{ id: `d-${webhookId}`, projectId: 'p', webhookId, eventId: 'e' },
    ...{ event: 'message.responded', attemptCount: 0, state, createdAt: at('14:47') },
    ...more,
  },
  attempts: outcome ? [{ attemptNumber: 1, startedAt: at('14:47'), durationMs: 5, outcome }] : [],
})
const delivered = { kind: 'delivered', deliveredAt: at('14:48') } as const
const pending = { kind: 'pending', nextAttemptAt: at('14:50'), step: 1 } as const
const refused: Outcome = {
  kind: 'refused',
  statusCode: 500,
  responseBody: "column customer_ref\n  does not exist '\u202E\u0007",
}
const lastFailureOf = (outcome: Outcome): LastFailure => ({
  ...{ webhookId: 'crm', deliveryId: 'd', attemptNumber: 1, startedAt: at('14:47'), outcome },
})
const failing = { consecutiveFailures: 3, failingSince: at('14:47') }
const crm = (given: Partial<ReadWebhook> = {}): ReadWebhook => ({
  ...aWebhook({ id: 'crm', description: 'CRM sync', createdAt: at('13:00'), ...given }),
  lastFailure: given.lastFailure ?? lastFailureOf(refused),
})
const unreachable: Outcome = { kind: 'unreachable', error: 'connect', detail: 'ECONNREFUSED' }
const backsOff: Partial<ReadWebhook> = {
  health: { ...failing, circuit: { kind: 'open', until: at('15:05'), trips: 1 } },
}
const receivers = (
  deliveries: readonly SentDelivery[],
  webhooks: readonly ReadWebhook[] = [],
  open?: number,
): Receivers => ({
  deliveries,
  webhooks,
  open: new Map(open === undefined ? [] : [['crm', open]]),
})
const said = "“column customer_ref does not exist '”"

describe('a receiver without the delivery', () => {
  it.each<
    [
      StoryCause,
      string,
      {
        readonly state?: WebhookDelivery['state']
        readonly attemptCount?: number
        readonly webhook?: Partial<ReadWebhook>
        readonly open?: number
        readonly outcome?: Outcome
        readonly isForCustomer?: true
      },
    ]
  >([
    ['waiting', 'its first attempt is due', {}],
    [
      'backing_off',
      `it answers 500 ${said} since 14:47, and 2,501 deliveries wait. The next attempt is at 15:05`,
      { webhook: backsOff, open: 2_501 },
    ],
    [
      'backing_off',
      'it fails since 14:47. The next attempt is at 15:05',
      { webhook: backsOff, open: 1, isForCustomer: true },
    ],
    [
      'failing',
      `it answers 500 ${said} since 15:00, and at least 10,000 deliveries wait`,
      {
        webhook: { health: { consecutiveFailures: 1, circuit: { kind: 'closed' } } },
        open: 10_000,
      },
    ],
    [
      'failing',
      'it cannot be reached: connect “ECONNREFUSED” since 14:47. The next attempt is at 15:30',
      {
        state: { ...pending, nextAttemptAt: at('15:30') },
        webhook: {
          health: { ...failing, circuit: { kind: 'closed' } },
          lastFailure: lastFailureOf(unreachable),
        },
      },
    ],
    [
      'retrying',
      'it answers 400. The next attempt is at 15:30',
      {
        state: { ...pending, nextAttemptAt: at('15:30') },
        attemptCount: 1,
        outcome: { kind: 'refused', statusCode: 400, responseBody: '' },
      },
    ],
    ['retrying', 'it fails', { attemptCount: 1 }],
    ['paused', 'it is paused', { webhook: { isPaused: true } }],
    [
      'disabled',
      'it is disabled since 14:55, by a person',
      { webhook: { status: { kind: 'disabled', reason: 'operator', at: at('14:55') } } },
    ],
    [
      'disabled',
      `it is disabled since 14:55, because it answers 500 ${said}`,
      { webhook: { status: { kind: 'disabled', reason: 'failing', at: at('14:55') } } },
    ],
    [
      'blocked',
      'delivery d0 of its session comes first',
      { state: { kind: 'waiting', blockedBy: 'd0' } },
    ],
    [
      'exhausted',
      `it answers 500 ${said}, at the last attempt 10`,
      {
        state: { kind: 'exhausted', exhaustedAt: at('14:58') },
        attemptCount: 10,
        outcome: refused,
      },
    ],
    [
      'delivery_cancelled',
      'cancelled at 14:58 (skipped)',
      { state: { kind: 'cancelled', cancelledAt: at('14:58'), reason: 'skipped' } },
    ],
  ])('%s: %s', (cause, why, { state = pending, attemptCount = 0, open, outcome, ...given }) => {
    const sent = delivery('crm', state, { attemptCount }, outcome)
    const of = receivers([sent], [crm(given.webhook)], open)
    const reader = { now, isForCustomer: given.isForCustomer }
    const told = storyOfDelivery(sent, of, reader)
    const text = `CRM sync does not have message.responded: ${why}.`
    expect(shown(told)).toEqual([[cause], text])
    expect(told.sentences[0]?.parts[0]).toEqual({ kind: 'webhook', text: 'CRM sync', id: 'crm' })
    expect(shown(storyOf({ ...facts(reader), message: inState(answered), receivers: of }))).toEqual(
      [
        ['answered', 'undelivered', cause],
        `Agent billing answered at 14:47. 0 of 1 receivers have message.responded. ${text}`,
      ],
    )
  })

  it('has no name if it is deleted, or the hook of a message', () => {
    const state = { kind: 'cancelled', cancelledAt: now, reason: 'webhook_deleted' } as const
    const text = (sent: SentDelivery) => shown(storyOfDelivery(sent, receivers([sent]), { now }))
    expect(text(delivery('gone', state))[1]).toBe(
      'A deleted webhook, or one of a single message, does not have message.responded: cancelled at 15:00 (webhook_deleted).',
    )
    expect(text(delivery('gone', pending))[0]).toEqual(['waiting'])
    expect(text(delivery('gone', delivered))).toEqual([
      ['delivered'],
      'A deleted webhook, or one of a single message, accepted message.responded at 14:48.',
    ])
  })

  it('is named without the parts of its URL that can be secret', () => {
    const { description: _, ...webhook } = crm({ url: 'https://u:p@crm.example/hook?token=1' })
    const sent = delivery('crm', delivered)
    const told = storyOfDelivery(sent, receivers([sent], [webhook]), { now })
    expect(told.text).toContain('https://crm.example/hook accepted')
    const hook = { ...webhook, hook: { messageId: 'm' } }
    const ofHook = storyOfDelivery(sent, receivers([sent], [hook]), { now })
    expect(ofHook.sentences[0]?.parts[0]?.kind).toBe('words')
  })
})

describe('the side of the receivers', () => {
  const others = ['1', '2', '3', '4', '5', '6'].map((id) => aWebhook({ id }))
  const told = (all: Receivers, message: Message = inState(answered)) =>
    shown(storyOf(facts({ message, receivers: all })))
  const rest = (text: string) => `Agent billing answered at 14:47. ${text}`

  it('says how many have the answer, and why one does not', () => {
    const sent = others.slice(0, 4).map(({ id }) => delivery(id, delivered))
    const all = receivers(
      [delivery('crm', pending), ...sent],
      [crm(backsOff), ...others.slice(0, 4)],
      2_501,
    )
    expect(told(all)).toEqual([
      ['answered', 'undelivered', 'backing_off'],
      rest(
        `4 of 5 receivers have message.responded. CRM sync does not have message.responded: it answers 500 ${said} since 14:47, and 2,501 deliveries wait. The next attempt is at 15:05.`,
      ),
    ])
  })

  it('names five of them, and counts the others', () => {
    const sent = others.map(({ id }) => delivery(id, pending))
    expect(told(receivers(sent, others))[1]).toMatch(/is due\. Others without it: 1\.$/)
  })

  it('counts the newest delivery, and not one from before a retry', () => {
    const of = { event: 'message.failed', attemptCount: 10 } as const
    const exhausted = { kind: 'exhausted', exhaustedAt: at('14:20') } as const
    const all = receivers(
      [delivery('1', delivered, of), delivery('1', exhausted, of)],
      others.slice(0, 1),
    )
    expect(told(all, inState(failed))).toEqual([
      ['failed', 'delivered'],
      expect.stringMatching(/1 of 1 receivers have message.failed\.$/),
    ])
    expect(told(all, inState(queued))[0]).toEqual(['queued'])
  })

  it.each<[StoryCause, string, readonly ReadWebhook[]]>([
    [
      'no_webhook',
      'No webhook subscribes to message.responded.',
      [crm({ events: ['message.failed'] })],
    ],
    [
      'filtered_out',
      'The filter of CRM sync does not match message.responded: sessionIdPrefix = "vip-".',
      [crm({ filter: { sessionIdPrefix: 'vip-' } })],
    ],
    [
      'no_delivery',
      'No delivery to CRM sync is stored. It was erased, or a test went to another webhook.',
      [
        crm({
          events: ['message.responded'],
          filter: { data: [{ path: 'response', prefix: 'Hi' }] },
        }),
      ],
    ],
  ])('%s: %s', (cause, text, webhooks) =>
    expect(told(receivers([], webhooks))).toEqual([['answered', cause], rest(text)]),
  )
})

describe('the story of an event', () => {
  const event = { name: 'order.paid', createdAt: at('14:47'), body: '{"data":{"amount":12}}' }
  const filter = { data: [{ path: 'amount', min: 20 }] }
  const later = { updatedAt: at('14:50') }
  const told = (all: Receivers) => shown(storyOfEvent({ event, receivers: all, now }))

  it.each<[StoryCause, string, Partial<ReadWebhook>]>([
    [
      'not_subscribed',
      'CRM sync does not subscribe to order.paid. It subscribes to invoice.*, order.sent.',
      { events: ['invoice.*', 'order.sent'] },
    ],
    [
      'not_subscribed',
      'CRM sync does not subscribe to order.paid, by its present settings. It subscribes to invoice.*.',
      { events: ['invoice.*'], ...later },
    ],
    [
      'filtered_out',
      'The filter of CRM sync does not match order.paid: data: amount from 20.',
      { filter },
    ],
    [
      'filtered_out',
      'The filter of CRM sync does not match order.paid, by its present settings: data: amount from 20.',
      { filter, ...later },
    ],
    [
      'no_delivery',
      'No delivery to CRM sync is stored. Its settings match, and changed at 14:50, after order.paid.',
      later,
    ],
    [
      'created_later',
      'CRM sync was created at 14:50, after order.paid.',
      { createdAt: at('14:50') },
    ],
  ])('%s: %s', (cause, text, settings) =>
    expect(told(receivers([], [crm({ events: ['*'], ...settings })]))).toEqual([[cause], text]),
  )

  it('names each webhook, and counts those that have the event', () => {
    const others = ['1', '2', '3', '4', '5', '6'].map((id) => aWebhook({ id, events: ['a.b'] }))
    const sent = delivery('crm', delivered, { event: 'order.paid' })
    const [causes, text] = told(receivers([sent], [crm({}), ...others]))
    expect(causes).toEqual(['delivered', ...others.map(() => 'not_subscribed')])
    expect(text).toMatch(/^1 of 1 receivers have order\.paid\. /)
    expect(told(receivers([]))).toEqual([['no_webhook'], 'No webhook subscribes to order.paid.'])
  })

  it('a test event goes to one webhook', () => {
    const test = { ...event, name: 'webhook.test' }
    const all = receivers([], [crm({ events: ['*'] })])
    expect(shown(storyOfEvent({ event: test, receivers: all, now }))).toEqual([
      ['not_sent_to'],
      'webhook.test is not sent to CRM sync.',
    ])
  })
})

it('cuts long words', () => {
  const long = inState({ ...failed, error: { ...error, message: 'x'.repeat(1_000) } })
  expect(storyOf(facts({ message: long })).text).toContain(`“${'x'.repeat(200)}…”`)
})

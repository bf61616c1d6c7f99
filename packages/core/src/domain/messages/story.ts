import type { Agent } from '../agents/agent.js'
import { toIso, type Instant } from '../values/instant.js'
import { beginningOf } from '../values/json.js'
import {
  shownUrl,
  type DeliveryAttempt,
  type Outcome,
  type WebhookDelivery,
} from '../webhooks/delivery.js'
import { seenEvent, whyMissed, type Missed, type SeenEvent } from '../webhooks/missed-event.js'
import type { WebhookEvent } from '../webhooks/event.js'
import { subscribesTo } from '../webhooks/event-name.js'
import type { ReadWebhook } from '../webhooks/webhook.js'
import { changedAt, factsOf, isSettled, type Message } from './message.js'
import type { MessageRun } from './past-run.js'
import type { RunError } from './run.js'

/** The cases of a sentence: first those of the message, then those of its receivers. */
export const STORY_CAUSES = [
  'answered',
  'failed',
  'cancelled',
  'asked',
  'running',
  'run_failed', // another run follows
  'retried', // by a person
  'queued',
  'held_back', // the agent does not run
  'erased', // or it never existed
  'delivered', // to all receivers
  'undelivered', // to some receivers
  'no_webhook', // gets the event
  'created_later', // the webhook, than the event
  'not_subscribed',
  'not_sent_to', // the webhook that the event is about
  'filtered_out',
  'no_delivery', // the settings match now, or the delivery was deleted
  'delivery_cancelled',
  'exhausted',
  'disabled',
  'paused',
  'backing_off',
  'failing',
  'blocked', // an earlier delivery of the session comes first
  'retrying', // this delivery failed, and others did not
  'waiting', // for its first attempt
] as const
export type StoryCause = (typeof STORY_CAUSES)[number]

/**
 * `words` are an agent's or a receiver's, in quotation marks and without control characters. A
 * `time` is in ISO 8601. `id` is that of the named row.
 */
export type StoryPart = {
  readonly kind: 'text' | 'words' | 'time' | 'message' | 'webhook' | 'delivery'
  readonly text: string
  readonly id?: string
}
/** `text` has all sentences for a reader without links. */
export type Story = {
  readonly text: string
  readonly sentences: readonly { readonly cause: StoryCause; readonly parts: StoryPart[] }[]
}

type Reader = {
  readonly now: Instant
  /** Leaves out the errors of agents and the answers of receivers. */
  readonly isForCustomer?: boolean | undefined
}
export type StoryFacts = Reader & {
  readonly message: Message
  readonly agent: Pick<Agent, 'name' | 'state'>
  readonly runs: readonly MessageRun[]
  /** The message that comes first in the session, if that is another one. */
  readonly head?: Message | undefined
  /** Absent if the reader does not see them. */
  readonly receivers?: Receivers | undefined
}
/** A delivery with the attempts that were read. */
export type SentDelivery = {
  readonly delivery: WebhookDelivery
  readonly attempts: readonly DeliveryAttempt[]
}
export type Receivers = {
  /** The deliveries of the message's events. */
  readonly deliveries: readonly SentDelivery[]
  readonly webhooks: readonly ReadWebhook[]
  /** How many deliveries of failing webhooks are open, up to `MOST_OPEN`. */
  readonly open: ReadonlyMap<string, number>
}

export const MOST_OPEN = 10_000
/** More sentences about single receivers would hide the others. */
const MOST_NAMED = 5
const MOST_WORDS = 200

type Told = readonly [StoryCause, StoryPart[]]

const told = (sentences: readonly Told[]): Story => ({
  text: sentences.map(([, parts]) => parts.map(({ text }) => text).join('')).join(' '),
  sentences: sentences.map(([cause, parts]) => ({ cause, parts })),
})

/** Says in a few sentences why a message has no answer, or why a receiver does not have it. */
export const storyOf = (facts: StoryFacts): Story =>
  told([...beforeOf(facts), ofMessage(facts), ...ofSettled(facts)])

export type EventFacts = Reader & {
  readonly event: Pick<WebhookEvent, 'name' | 'body' | 'createdAt'>
  readonly receivers: Receivers
}

/** Says of each webhook why it does not have the event. */
export const storyOfEvent = ({ event, receivers, ...reader }: EventFacts): Story =>
  told(ofReceivers(seenEvent(event.name, event), receivers, reader, Infinity))

/** For a message that is not stored. */
export const missingStory = (): Story =>
  told([['erased', say`No message has this ID. It was erased or has expired, or never existed.`]])

/** Says when a receiver accepted a delivery, or why it does not have it. */
export const storyOfDelivery = (sent: SentDelivery, receivers: Receivers, reader: Reader): Story =>
  told([ofDelivery(sent, receivers, reader)])

/** Makes the parts of a sentence. */
const say = (
  texts: TemplateStringsArray,
  ...values: readonly (StoryPart | string | number | undefined | StoryPart[])[]
): StoryPart[] =>
  texts
    .flatMap((text, at) => [text, values[at] ?? ''].flat())
    .map((one): StoryPart => (typeof one === 'object' ? one : { kind: 'text', text: `${one}` }))
    .filter(({ text }) => text !== '')

const time = (at: Instant): StoryPart => ({ kind: 'time', text: toIso(at) })

/** Control characters and marks of direction would change the text around the words. */
const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\s\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ').trim()

function words(text: string): StoryPart {
  const all = plain(text).replaceAll(/["“”]/g, "'")
  const shown = beginningOf(all, MOST_WORDS)
  return { kind: 'words', text: `“${shown}${shown === all ? '' : '…'}”` }
}

const whyOf = ({ isForCustomer }: Reader, error: RunError | undefined): StoryPart[] =>
  error && !isForCustomer ? say`: ${error.code} ${words(error.message)}` : []

/** Tells how the last run ended, if the message runs again for that reason. */
function beforeOf({ message: { attempt, state }, runs, ...reader }: StoryFacts): Told[] {
  const last = runs.findLast(({ reason }) => reason !== undefined)
  if (isSettled(state) || !last || last.reason === 'input_required') return []
  const end = say`ended as ${last.reason}${whyOf(reader, last.error)}`
  // A retry starts again at attempt 1, and a run that goes on is not the one that ended.
  const isRetried = last.attempt > attempt || (last.attempt === attempt && state.kind !== 'queued')
  return isRetried
    ? [['retried', say`A person retried the message. Its run before ${end}.`]]
    : [['run_failed', say`Run ${last.attempt} ${end}.`]]
}

function ofMessage(facts: StoryFacts): Told {
  const { message, agent, head, now } = facts
  const { state, attempt } = message
  switch (state.kind) {
    case 'responded':
      return ['answered', say`Agent ${agent.name} answered at ${time(state.respondedAt)}.`]
    case 'failed': {
      const at = say`at ${time(state.failedAt)} in run ${attempt}`
      return ['failed', say`The message failed ${at}${whyOf(facts, state.error)}.`]
    }
    case 'cancelled':
      return ['cancelled', say`The message was cancelled at ${time(state.cancelledAt)}.`]
    case 'input_required': {
      const asked = message.inputs?.map(({ question }) => words(question)).slice(-1) ?? []
      const until = say`${time(state.askedAt)}, until ${time(state.deadlineAt)}`
      return ['asked', say`Agent ${agent.name} asks a person since ${until}: ${asked}`]
    }
    case 'running':
    case 'deferred':
      return ['running', say`Agent ${agent.name} works on it since ${time(state.startedAt)}.`]
    case 'queued': {
      const its = agent.state
      if (its.kind !== 'running') {
        const why = its.kind === 'error' ? whyOf(facts, its.lastError) : []
        return [
          'held_back',
          say`The message waits: agent ${agent.name} is in state ${its.kind}${why}.`,
        ]
      }
      if (!head)
        return state.notBefore > now
          ? ['queued', say`The next run starts at ${time(state.notBefore)}.`]
          : ['queued', say`The message waits for a free slot of agent ${agent.name}.`]
      const first: StoryPart = { kind: 'message', text: head.id, id: head.id }
      return [
        'queued',
        say`Message ${first} of its session comes first, in state ${head.state.kind}.`,
      ]
    }
  }
}

/** Of a settled message, tells who has its event. */
function ofSettled({ message, receivers, ...reader }: StoryFacts): Told[] {
  if (!receivers || !isSettled(message.state)) return []
  const name = `message.${message.state.kind}`
  const facts = factsOf(message)
  const data = { ...facts, ...message.state, input: message.inputs?.at(-1) }
  const event = { ...facts, name, createdAt: changedAt(message), data }
  const subscribed = receivers.webhooks.filter(({ events }) => subscribesTo(events, name))
  return ofReceivers(event, receivers, reader, MOST_NAMED, subscribed)
}

/** Tells who has the event. Names up to `most` webhooks without it, of those that could have it. */
function ofReceivers(
  event: SeenEvent,
  receivers: Receivers,
  reader: Reader,
  most: number,
  webhooks = receivers.webhooks,
): Told[] {
  const { name } = event
  const byWebhook = Map.groupBy(
    receivers.deliveries.filter(({ delivery }) => delivery.event === name),
    ({ delivery }) => delivery.webhookId,
  )
  // The newest delivery counts. The others are from before a retry.
  const newest = [...byWebhook.values()].flatMap((all) => all.slice(0, 1))
  const missing = newest.filter(({ delivery }) => delivery.state.kind !== 'delivered')
  const without = webhooks.filter(({ id }) => !byWebhook.has(id))
  const all = newest.length
  if (all + without.length === 0) return [['no_webhook', say`No webhook subscribes to ${name}.`]]
  const named = [
    ...missing.map((sent) => ofDelivery(sent, receivers, reader)),
    ...without.map((webhook) => ofMissed(webhook, event)),
  ]
  const have = all - missing.length
  const cause = missing.length > 0 ? 'undelivered' : 'delivered'
  const others = named.length - most
  return [
    ...(all > 0 ? [[cause, say`${have} of ${all} receivers have ${name}.`] as const] : []),
    ...named.slice(0, most),
    ...(others > 0 ? [['undelivered', say`Others without it: ${others}.`] as const] : []),
  ]
}

/** The settings can have changed since the event. */
function ofMissed(webhook: ReadWebhook, event: SeenEvent): Told {
  const missed = whyMissed(webhook, event)
  const isChanged = webhook.updatedAt > event.createdAt
  const now = isChanged ? ', by its present settings' : ''
  return [missed.cause, sentenceOf(missed, webhook, event.name, now)]
}

function sentenceOf(missed: Missed, webhook: ReadWebhook, event: string, now: string): StoryPart[] {
  const name = nameOf(webhook)
  switch (missed.cause) {
    case 'created_later':
      return say`${name} was created at ${time(webhook.createdAt)}, after ${event}.`
    case 'not_subscribed': {
      const events = beginningOf(webhook.events.join(', '), MOST_WORDS)
      return say`${name} does not subscribe to ${event}${now}. It subscribes to ${events}.`
    }
    case 'not_sent_to':
      return say`${event} is not sent to ${name}.`
    case 'filtered_out': {
      const condition: StoryPart = { kind: 'words', text: plain(missed.condition) }
      return say`The filter of ${name} does not match ${event}${now}: ${condition}.`
    }
    case 'no_delivery':
      return now === ''
        ? say`No delivery to ${name} is stored. It was erased, or a test went to another webhook.`
        : say`No delivery to ${name} is stored. Its settings match, and changed at ${time(webhook.updatedAt)}, after ${event}.`
  }
}

function nameOf(webhook: ReadWebhook | undefined): StoryPart {
  if (!webhook) return { kind: 'text', text: 'A deleted webhook, or one of a single message,' }
  const { id, hook, description, url } = webhook
  const text = beginningOf(plain(description ?? shownUrl(url)), MOST_WORDS)
  return hook ? { kind: 'words', text } : { kind: 'webhook', text, id }
}

function ofDelivery(sent: SentDelivery, receivers: Receivers, reader: Reader): Told {
  const { event, state, webhookId } = sent.delivery
  const webhook = receivers.webhooks.find(({ id }) => id === webhookId)
  if (state.kind === 'delivered')
    return ['delivered', say`${nameOf(webhook)} accepted ${event} at ${time(state.deliveredAt)}.`]
  const [cause, why] = whyNot(sent, webhook, receivers.open.get(webhookId) ?? 0, reader)
  return [cause, say`${nameOf(webhook)} does not have ${event}: ${why}.`]
}

function whyNot(
  { delivery: { state, attemptCount }, attempts }: SentDelivery,
  webhook: ReadWebhook | undefined,
  open: number,
  reader: Reader,
): Told {
  const own = answerOf(attempts.at(-1)?.outcome, reader)
  if (state.kind === 'cancelled')
    return ['delivery_cancelled', say`cancelled at ${time(state.cancelledAt)} (${state.reason})`]
  if (state.kind === 'exhausted')
    return ['exhausted', say`it ${own}, at the last attempt ${attemptCount}`]
  const last = answerOf(webhook?.lastFailure?.outcome, reader)
  if (webhook?.status.kind === 'disabled') {
    const { at, reason } = webhook.status
    const why = reason === 'operator' ? 'by a person' : say`because it ${last}`
    return ['disabled', say`it is disabled since ${time(at)}, ${why}`]
  }
  if (webhook?.isPaused) return ['paused', say`it is paused`]
  const { health } = webhook ?? {}
  const next = Math.max(
    state.kind === 'pending' ? state.nextAttemptAt : 0,
    health?.circuit.kind === 'open' ? health.circuit.until : 0,
  )
  const again = next > reader.now ? say`. The next attempt is at ${time(next)}` : []
  if (health && health.consecutiveFailures > 0) {
    const since = time(health.failingSince ?? reader.now)
    const count = `${open === MOST_OPEN ? 'at least ' : ''}${open.toLocaleString('en')}`
    const others = open > 1 ? `, and ${count} deliveries wait` : ''
    const cause = health.circuit.kind === 'open' ? 'backing_off' : 'failing'
    return [cause, say`it ${last} since ${since}${others}${again}`]
  }
  if (state.kind === 'waiting') {
    const first: StoryPart = { kind: 'delivery', text: state.blockedBy, id: state.blockedBy }
    return ['blocked', say`delivery ${first} of its session comes first`]
  }
  if (attemptCount > 0) return ['retrying', say`it ${own}${again}`]
  return ['waiting', say`its first attempt is due`]
}

function answerOf(outcome: Outcome | undefined, { isForCustomer }: Reader): StoryPart[] {
  if (!outcome || isForCustomer) return say`fails`
  if (outcome.kind === 'unreachable')
    return say`cannot be reached: ${outcome.error} ${words(outcome.detail)}`
  const { statusCode, responseBody } = outcome
  return say`answers ${statusCode}${responseBody && ' '}${responseBody && words(responseBody)}`
}

import { err, ok, ResultAsync, type Result } from 'neverthrow'
import { eventTakes, type BucketLevel, type TokenTake } from '../domain/access/send-limit.js'
import { parseTrace, type TraceContext } from '../domain/messages/trace.js'
import { fail } from '../domain/values/fail.js'
import type { IdempotencyMismatch } from '../domain/values/idempotency.js'
import { broken, invalid, type Invalid, type Rule } from '../domain/values/input-rules.js'
import { NO_CLAIMS } from '../domain/messages/first-claim.js'
import {
  contentOf,
  eventRules,
  MOST_DELIVERIES,
  MOST_PUBLISHED,
  publishedEvent,
  type NewEvent,
} from '../domain/webhooks/published-event.js'
import { errorOf, tracedCommit } from '../pacing/traced-commit.js'
import type { Platform } from '../platform.js'
import type { Publication, PublishOutcome } from '../ports/event-store.js'
import type { HostTransaction, PublishStore } from '../ports/storage.js'
import type { Caller, Unavailable } from '../ports/stored.js'
import { checkTypes } from '../webhooks/check-types.js'
import type { Admission } from '../webhooks/delivery-sender.js'
import type { Needs } from './context.js'
import { keyRule } from './draft-message.js'
import type { SendingKey } from './earlier-reads.js'

type Publisher = {
  readonly projectId: string
  /** Covers the request, as the `id` of an event covers that event. */
  readonly idempotencyKey?: string | undefined
  /** W3C Trace Context as received. A malformed one is ignored. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /** Ends the wait before the commit. */
  readonly abort?: Caller | undefined
  /** The API key that publishes. */
  readonly sentBy?: SendingKey | undefined
  /** Commits with the host's transaction, such as `inTransaction` of the PostgreSQL adapter returns. */
  readonly transaction?: HostTransaction | undefined
}
export type PublishInput = Publisher & NewEvent
export type PublishBatchInput = Publisher & {
  /** 1 to 100 events, in their order. */
  readonly events: readonly NewEvent[]
}

/** The token buckets of the project's events. Absent without a limit and for a repetition. */
type Levels = { readonly levels?: readonly BucketLevel[] | undefined }
/** `replayed`: an earlier call stored the event. */
export type PublishedEvent = Levels & { readonly id: string; readonly replayed: boolean }
/** `replayed`: earlier calls stored all events. */
export type PublishedBatch = Levels & {
  readonly data: readonly { readonly id: string }[]
  readonly replayed: boolean
}

export type PublishError =
  | Invalid
  | Unavailable
  /** The recalled key is revoked. */
  | { readonly kind: 'unauthorized' }
  | IdempotencyMismatch
  /** The token bucket of the project's events has too few tokens. */
  | { readonly kind: 'rate_limited'; readonly levels: readonly BucketLevel[] }

type Publishing = Pick<
  Platform,
  'clock' | 'crypto' | 'ids' | 'policy' | 'publicUrl' | 'storage' | 'tracing'
> &
  Needs<'deliverySender' | 'eventNews' | 'projectLimits' | 'sendQueue' | 'telemetry'>

export const publishEvent =
  (d: Publishing) =>
  (input: PublishInput): ResultAsync<PublishedEvent, PublishError> =>
    new ResultAsync(publish(d, input, [input], () => '')).map(
      ({ data: [first], ...published }) => ({ id: first?.id ?? '', ...published }),
    )

export const publishBatch =
  (d: Publishing) =>
  (input: PublishBatchInput): ResultAsync<PublishedBatch, PublishError> => {
    const { events } = input
    const isList = Array.isArray(events) && events.length > 0 && events.length <= MOST_PUBLISHED
    const problem = isList
      ? undefined
      : broken({ events: `must be a list of 1 to ${MOST_PUBLISHED} events` })
    return problem
      ? new ResultAsync(Promise.resolve(problem))
      : new ResultAsync(publish(d, input, events, (at) => `events.${at}.`))
  }

/** `pathOf`: the path of an event in the request, with a dot. */
async function publish(
  d: Publishing,
  asked: Publisher,
  given: readonly NewEvent[],
  pathOf: (at: number) => string,
): Promise<Result<PublishedBatch, PublishError>> {
  const problem = await problemOf(d, asked, given, pathOf)
  if (problem.isErr()) return err(problem.error)
  const { projectId, transaction } = asked
  const work = () => commit(d, asked, given)
  const turn = { group: projectId, caller: asked.abort, bytes: () => bytesOf(given) }
  const done = await (transaction ? work() : d.sendQueue.run(turn, work))
  return done.andThen(({ ids, stored }) => {
    switch (stored.kind) {
      case 'key_revoked':
        return fail('unauthorized')
      case 'rate_limited':
        return err(stored)
      case 'mismatch':
        return err(mismatch(ids, stored.ids, pathOf))
      case 'agent_not_found':
        return unknownAgents(stored.ids.map((id) => pathOf(ids.indexOf(id))))
      case 'too_many_deliveries':
        return invalid(
          'events',
          `must make at most ${MOST_DELIVERIES} deliveries together: publish the first ${stored.fits} on their own`,
        )
      default: {
        const data = ids.map((id) => ({ id }))
        const levels = stored.kind === 'published' ? stored.levels : undefined
        return ok({ data, replayed: stored.kind === 'replayed', levels })
      }
    }
  })
}

/** Checks the events, and that their agents exist. */
async function problemOf(
  d: Publishing,
  { projectId, idempotencyKey, transaction }: Publisher,
  given: readonly NewEvent[],
  pathOf: (at: number) => string,
): Promise<Result<void, Invalid | Unavailable>> {
  const { limits } = d.policy
  const rules = given.map((event, at) => eventRules(event, limits, pathOf(at)))
  const problem = broken(
    Object.assign(
      { 'Idempotency-Key': keyRule(idempotencyKey, limits) },
      ...rules,
      sameIdRules(given, pathOf),
    ) as Record<string, Rule>,
  )
  if (problem) return problem
  // A host's transaction reads on its own connection: the pool of the host can be used up.
  const stores = transaction ?? d.storage
  const unknown: string[] = []
  for (const [at, { agentId }] of given.entries()) {
    if (agentId === undefined) continue
    const agent = await stores.agents.get(projectId, agentId)
    if (!agent.ok) return err(agent.error)
    if (agent.value?.id !== agentId) unknown.push(pathOf(at))
  }
  if (unknown.length > 0) return unknownAgents(unknown)
  return checkTypes(d, projectId, given, pathOf, stores)
}

const unknownAgents = (paths: readonly string[]) =>
  err({
    kind: 'invalid',
    issues: paths.map((path) => ({
      path: `${path}agentId`,
      message: 'must be the id of an agent of this project',
    })),
  } satisfies Invalid)

function sameIdRules(given: readonly NewEvent[], pathOf: (at: number) => string) {
  const places = new Map<string, number>()
  const rules: Record<string, Rule> = {}
  for (const [at, { id }] of given.entries()) {
    if (id === undefined) continue
    const before = places.get(id)
    if (before === undefined) places.set(id, at)
    else rules[`${pathOf(at)}id`] = `must not be the id of events.${before} too`
  }
  return rules
}

type Committed = { readonly ids: readonly string[]; readonly stored: PublishOutcome }

/** Commits the events, and tells the delivery sender and the readers of the log. */
async function commit(
  d: Publishing,
  asked: Publisher,
  given: readonly NewEvent[],
): Promise<Result<Committed, Invalid | Unavailable>> {
  const { projectId, transaction } = asked
  const takes = transaction ? ok([]) : await takesOf(d, projectId)
  if (takes.isErr()) return err(takes.error)
  const span = d.tracing.start({
    name: 'event.publish',
    parent: parseTrace(asked.traceparent, asked.tracestate),
    details: { projectId, events: given.length },
  })
  const claim = transaction ? undefined : d.deliverySender.admit()
  const publication = {
    ...publicationOf(d, asked, given, { trace: span.trace, claim }),
    ...(takes.value.length > 0 && { takes: takes.value }),
  }
  const { events } = (transaction ?? d.storage) satisfies PublishStore
  const written = await tracedCommit(d.tracing, span, 'publish', () => events.publish(publication))
  if (!written.ok) {
    span.end({ error: errorOf(written.error) })
    return err(written.error)
  }
  const stored = written.value
  const isNew = stored.kind === 'published'
  span.end(isNew ? {} : { error: stored.kind })
  const told = () => {
    d.eventNews.committed(projectId)
    d.deliverySender.take(isNew ? stored : NO_CLAIMS, claim)
  }
  if (isNew && transaction) transaction.onEnd(told)
  else if (isNew) told()
  const { outgoing } = publication
  d.telemetry.record({
    name: 'event.published',
    projectId,
    events: isNew ? stored.events : 0,
    ...(!isNew && { refused: stored.kind }),
  })
  return ok({ ids: outgoing.events.map(({ id }) => id), stored })
}

async function takesOf(
  { policy: { quotas }, projectLimits }: Publishing,
  projectId: string,
): Promise<Result<TokenTake[], Unavailable>> {
  if (!quotas) return ok([])
  return (await projectLimits.of(projectId)).map((own) => eventTakes(quotas, own, projectId))
}

type Cause = { readonly trace: TraceContext | undefined; readonly claim: Admission | undefined }

function publicationOf(
  d: Pick<Publishing, 'clock' | 'crypto' | 'ids' | 'publicUrl'>,
  { projectId, idempotencyKey: key, sentBy }: Publisher,
  given: readonly NewEvent[],
  { trace, claim }: Cause,
) {
  const now = d.clock.now()
  const request = key === undefined ? undefined : { key, fingerprint: fingerprintOf(d, given) }
  const events = given.map((event, at) => {
    const { id = request ? idOfPlace(d, [projectId, request, at]) : d.ids.next() } = event
    const fingerprint = event.id === undefined ? undefined : d.crypto.sha256(contentOf(event))
    return {
      ...publishedEvent(event, {
        id,
        projectId,
        now,
        fingerprint,
        serviceUrl: d.publicUrl?.(),
      }),
      trace,
    }
  })
  return {
    projectId,
    outgoing: { events, nextDeliveryId: () => d.ids.next(), claim },
    request,
    ...(sentBy?.isRecalled && { apiKeyId: sentBy.id }),
  } satisfies Publication
}

const fingerprintOf = ({ crypto }: Pick<Platform, 'crypto'>, given: readonly NewEvent[]): string =>
  crypto.sha256(JSON.stringify(given.map((event) => [event.id, contentOf(event)])))

/** A repeated request gives its events the same ids. Another request has other ids. */
const idOfPlace = ({ crypto }: Pick<Platform, 'crypto'>, place: readonly unknown[]): string =>
  crypto
    .sha256(JSON.stringify(place))
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')

function mismatch(
  ids: readonly string[],
  wrong: readonly string[],
  pathOf: (at: number) => string,
): PublishError {
  const issues = wrong.map((id) => ({
    path: `${pathOf(ids.indexOf(id))}id`,
    message: 'was already used for another event',
  }))
  return { kind: 'idempotency_mismatch', ...(issues.length > 0 && { issues }) }
}

const bytesOf = (given: readonly NewEvent[]): number =>
  given.reduce((sum, { data, metadata }) => sum + JSON.stringify([data, metadata]).length, 0)

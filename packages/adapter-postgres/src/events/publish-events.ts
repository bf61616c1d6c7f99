import { success, type PortResult } from '@org/agent-messaging-core/runtime'
import {
  countOfPublish,
  decidePublish,
  MOST_DELIVERIES,
  type EventStore,
  type Publication,
  type PublishOutcome,
  type SameId,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { codeOf } from '../database/errors.js'
import type { Gateway, Queries } from '../database/gateway.js'
import { jsonRows, sql } from '../database/sql.js'
import { countingCall } from '../messages/counts.js'
import { withTokens } from '../messages/send-buckets.js'
import {
  askedFor,
  KnownReceivers,
  NO_HOOKS,
  readAndKeep,
  type Receivers,
  topicsOf,
} from '../webhooks/receivers.js'
import { eventRows, type FanOut, fanOutTo, notWaiting } from './fan-out.js'

type Found = {
  /** The publication. Null in a row that is about all. */
  readonly place: number | null
  readonly kind:
    | 'changed'
    | 'revoked'
    | 'same_id'
    | 'same_request'
    | 'no_agent'
    | 'too_large'
    | 'published'
    | 'waiting'
  readonly id: string | null
  readonly fingerprint: string | null
  readonly waiting: readonly string[] | null
}
type Parameters = { readonly events: string; readonly topics: string }

const publishCall = countingCall<Parameters, Found>(
  'select * from agent_messaging.publish_events(@events, @topics)',
  "r.kind = 'published'",
)

/** 64 of the longest events are 4 MB. */
const MOST_EVENTS = 64

/** `EventStore.publish`. Publications of many events share a commit with fewer others. */
export function publisher({ grouped, write }: Gateway): EventStore['publish'] {
  const receivers = new KnownReceivers()
  const group = (maxBatchSize: number, isLimited = false) =>
    grouped<Publication, Published>({
      keyOf: ({ projectId, outgoing }) => `${projectId} ${outgoing.events[0]?.id}`,
      lockOf: ({ projectId, outgoing }) => lockOf(projectId, outgoing.events[0]),
      maxBatchSize,
      // Two batches of this process would wait for the same buckets.
      ...(isLimited && { maxInFlight: 1, inTransaction: true }),
      flush: (db, all) =>
        isLimited
          ? publishLimited(db, all, receivers)
          : withoutRace(() => publishAll(db, all, receivers)),
    })
  const single = { free: group(MOST_EVENTS), limited: group(MOST_EVENTS, true) }
  const batches = { free: group(2), limited: group(2, true) }
  return wholePublish(
    (publication) => {
      const { free, limited } = publication.outgoing.events.length === 1 ? single : batches
      return (publication.takes ? limited : free)(publication)
    },
    (publication) => write((db) => remember(db, publication)),
  )
}

/** `rest`: the other events are stored already. `known`: all are, by other requests. */
type Published =
  | PublishOutcome
  | { readonly kind: 'rest'; readonly publication: Publication }
  | { readonly kind: 'known' }

/**
 * Publishes with `once`, and then the rest: alone, because its failure must not reach publications
 * that share a commit. `keepRequest` returns 0 if another request used the key in the meantime.
 */
export const wholePublish = <E>(
  once: (publication: Publication) => Promise<PortResult<Published, E>>,
  keepRequest: (publication: Publication) => Promise<PortResult<number, E>>,
) =>
  async function publish(publication: Publication): Promise<PortResult<PublishOutcome, E>> {
    const done = await once(publication)
    if (!done.ok) return done
    const { value } = done
    if (value.kind === 'rest') return publish(value.publication)
    if (value.kind !== 'known') return success(value)
    const kept = await keepRequest(publication)
    if (!kept.ok) return kept
    return kept.value === 0 ? publish(publication) : success({ kind: 'replayed' })
  }

const rememberSql = sql<{
  readonly key: string
  readonly projectId: string
  readonly fingerprint: string
  readonly now: number
}>(`
  insert into agent_messaging.publish_requests (request_key, project_id, fingerprint, created_at)
  values (@key, @projectId, @fingerprint, @now::bigint) on conflict do nothing`)

export async function remember(
  db: Queries,
  { projectId, outgoing, request }: Publication,
): Promise<number> {
  const now = outgoing.events[0]?.createdAt ?? 0
  return request ? db.run(rememberSql, { ...request, projectId, now }) : 1
}

/** A transaction of a host can hold the order of a session for long. */
const lockOf = (projectId: string, event: WebhookEvent | undefined): string =>
  event?.sessionId === undefined
    ? `${projectId} ${event?.id}`
    : `${projectId} ${event.agentId ?? ''} ${event.sessionId}`

const UNIQUE_VIOLATION = '23505'

/** Another commit stored an id or a request between the look and the insert: now it is found. */
export const withoutRace = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (codeOf(error) === UNIQUE_VIOLATION) return work()
    throw error
  })

const knownSql = sql<
  { readonly events: string },
  { readonly place: number; readonly known: number }
>(`
  select g.place, count(*)::int as known
  from jsonb_to_recordset(@events::jsonb)
    as g (place int, "projectId" text, id text, "askedKey" text)
  where exists (select from agent_messaging.events e
      where e.id = g.id and e.project_id = g."projectId")
    or exists (select from agent_messaging.publish_requests r
      where r.request_key = g."askedKey" and r.project_id = g."projectId")
  group by g.place`)

/** Publishes with the tokens of the project's events. Stored events take none. */
const publishLimited = (
  db: Queries,
  all: readonly Publication[],
  receivers: KnownReceivers,
): Promise<Published[]> =>
  withTokens(db, all, {
    tokensOf: async (publications) => {
      const events = publications.flatMap(({ projectId, outgoing, request }, place) =>
        outgoing.events.map(({ id }) => ({ place, projectId, id, askedKey: request?.key })),
      )
      const found = await db.all(knownSql, { events: jsonRows(events) })
      const known = new Map(found.map((row) => [row.place, row.known]))
      return publications.map(({ outgoing }, at) => outgoing.events.length - (known.get(at) ?? 0))
    },
    nowOf: ({ outgoing }) => outgoing.events[0]?.createdAt ?? 0,
    commit: (taken) => publishAll(db, taken, receivers),
    usedBy: (result) => (result.kind === 'published' ? result.events : 0),
  })

/** Publishes each publication or nothing of it. They share no id. */
export async function publishAll(
  db: Queries,
  all: readonly Publication[],
  known: KnownReceivers,
): Promise<Published[]> {
  const topics = topicsOf(all.map(({ outgoing }) => outgoing))
  const cached = known.find(topics)
  const receivers = cached ?? (await readAndKeep(db, topics, known))
  const published = await publishTo(db, all, receivers, cached !== undefined)
  if (published) return published
  const fresh = await readAndKeep(db, topics, known)
  return (await publishTo(db, all, fresh, false)) ?? []
}

type Part = FanOut & { readonly isTooLarge: boolean }

function partOf({ outgoing }: Publication, receivers: Receivers): Part {
  const part = fanOutTo(outgoing, receivers, NO_HOOKS)
  const count = part.events.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
  return { ...part, isTooLarge: part.events.length > 1 && count > MOST_DELIVERIES }
}

/** Returns undefined if a webhook has changed. Then nothing is written. */
async function publishTo(
  db: Queries,
  all: readonly Publication[],
  receivers: Receivers,
  mustMatch: boolean,
): Promise<Published[] | undefined> {
  const parts = all.map((publication) => partOf(publication, receivers))
  const rows = parts.flatMap(({ events, isTooLarge }, at) => {
    const { apiKeyId, request } = all[at] as Publication
    const { key: askedKey, fingerprint: askedFingerprint } = request ?? {}
    const of = { place: at + 1, apiKeyId, askedKey, askedFingerprint, isTooLarge }
    return eventRows(events).map((row) => ({ ...row, ...of }))
  })
  const topics = mustMatch ? [...receivers.values()] : []
  const found = await publishCall(
    db,
    {
      events: jsonRows(rows),
      topics: jsonRows(topics.map((topic) => ({ ...askedFor(topic), version: topic.version }))),
    },
    all.map(({ outgoing }) => ({ count: countOfPublish(outgoing.events) })),
  )
  if (found[0]?.kind === 'changed') return undefined
  const waiting = new Set(found.at(-1)?.waiting)
  return all.map((publication, at) => {
    const own = found.filter(({ place }) => place === at + 1)
    const part = parts[at] as Part
    if (own[0]?.kind !== 'published') return decided(publication, own, part)
    return {
      kind: 'published',
      events: part.events.length,
      ...notWaiting(part.claims, waiting),
    }
  })
}

/** Decides about a publication that the statement did not insert. */
function decided(publication: Publication, own: readonly Found[], part: Part): Published {
  if (own.some(({ kind }) => kind === 'revoked')) return { kind: 'key_revoked' }
  const { outgoing, request } = publication
  const stored = own.find(({ kind }) => kind === 'same_request')?.fingerprint ?? undefined
  const decision = decidePublish(outgoing.events, {
    sameIds: own.filter(({ kind }) => kind === 'same_id') as (Found & SameId)[],
    asked: request,
    stored,
    deliveriesOf: (_, at) => part.events[at]?.deliveries.length ?? 0,
    hasAgent: (event) => !own.some(({ kind, id }) => kind === 'no_agent' && id === event.id),
  })
  if (decision.kind === 'replayed' && request && stored === undefined) return { kind: 'known' }
  if (decision.kind !== 'new') return decision
  const rest = { ...outgoing, events: decision.events }
  return { kind: 'rest', publication: { ...publication, outgoing: rest } }
}

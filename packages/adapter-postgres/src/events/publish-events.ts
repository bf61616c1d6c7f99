import {
  countOfPublish,
  decidePublish,
  MOST_DELIVERIES,
  ofRequest,
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
export function publisher({ grouped }: Gateway): EventStore['publish'] {
  const receivers = new KnownReceivers()
  const group = (maxBatchSize: number, isLimited = false) =>
    grouped<Publication, PublishOutcome>({
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
  return (publication) => {
    const { free, limited } = publication.outgoing.events.length === 1 ? single : batches
    return (publication.takes ? limited : free)(publication)
  }
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
    or exists (select from agent_messaging.events e
      where e.request_key = g."askedKey" and e.project_id = g."projectId")
  group by g.place`)

/** Publishes with the tokens of the project's events. Stored events take none. */
const publishLimited = (
  db: Queries,
  all: readonly Publication[],
  receivers: KnownReceivers,
): Promise<PublishOutcome[]> =>
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
): Promise<PublishOutcome[]> {
  const topics = topicsOf(all.map(({ outgoing }) => outgoing))
  const cached = known.find(topics)
  const receivers = cached ?? (await readAndKeep(db, topics, known))
  const published = await publishTo(db, all, { receivers, mustMatch: cached !== undefined })
  if (published) return published
  const fresh = await readAndKeep(db, topics, known)
  return (await publishTo(db, all, { receivers: fresh, mustMatch: false })) ?? []
}

type Known = { readonly receivers: Receivers; readonly mustMatch: boolean }

type Part = FanOut & { readonly isTooLarge: boolean }

function partOf({ outgoing, request }: Publication, receivers: Receivers): Part {
  const marked = { ...outgoing, events: ofRequest(outgoing.events, request) }
  const part = fanOutTo(marked, receivers, NO_HOOKS)
  const count = part.events.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
  return { ...part, isTooLarge: part.events.length > 1 && count > MOST_DELIVERIES }
}

/** Returns undefined if a webhook has changed. Then nothing is written. */
async function publishTo(
  db: Queries,
  all: readonly Publication[],
  known: Known,
): Promise<PublishOutcome[] | undefined> {
  const { receivers, mustMatch } = known
  const parts = all.map((publication) => partOf(publication, receivers))
  const rows = parts.flatMap(({ events, isTooLarge }, at) => {
    const { apiKeyId, request } = all[at] as Publication
    const of = { place: at + 1, apiKeyId, askedKey: request?.key, isTooLarge }
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
  const results: PublishOutcome[] = []
  for (const [at, publication] of all.entries()) {
    const own = found.filter(({ place }) => place === at + 1)
    const part = parts[at] as Part
    if (own[0]?.kind === 'published') {
      const { length } = part.events
      results.push({ kind: 'published', events: length, ...notWaiting(part.claims, waiting) })
    } else results.push(await decided(db, publication, { own, part, known }))
  }
  return results
}

type Looked = { readonly own: readonly Found[]; readonly part: Part; readonly known: Known }

/** Decides about a publication that the statement did not insert. */
async function decided(
  db: Queries,
  publication: Publication,
  { own, part, known }: Looked,
): Promise<PublishOutcome> {
  if (own.some(({ kind }) => kind === 'revoked')) return { kind: 'key_revoked' }
  const { outgoing, request } = publication
  const decision = decidePublish(outgoing.events, {
    sameIds: own.filter(({ kind }) => kind === 'same_id') as (Found & SameId)[],
    asked: request,
    stored: own.find(({ kind }) => kind === 'same_request')?.fingerprint ?? undefined,
    deliveriesOf: (_, at) => part.events[at]?.deliveries.length ?? 0,
  })
  if (decision.kind !== 'new') return decision
  const rest = { ...publication, outgoing: { ...outgoing, events: decision.events } }
  const [published] = (await publishTo(db, [rest], { ...known, mustMatch: false })) ?? []
  return published ?? { kind: 'replayed' }
}

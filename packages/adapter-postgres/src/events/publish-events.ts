import {
  decidePublish,
  eventsThatFit,
  ofRequest,
  type EventStore,
  type Publication,
  type PublishOutcome,
  type SameId,
} from '@org/agent-messaging-core/storage'
import { codeOf } from '../database/errors.js'
import type { Gateway, Queries } from '../database/gateway.js'
import { jsonRows } from '../database/sql.js'
import { countingCall } from '../messages/counts.js'
import {
  askedFor,
  KnownReceivers,
  NO_HOOKS,
  readAndKeep,
  type Receivers,
  topicsOf,
} from '../webhooks/receivers.js'
import { eventRows, fanOutTo, notWaiting } from './fan-out.js'

type Found = {
  /** The publication. Null in a row that is about all. */
  readonly place: number | null
  readonly kind: 'changed' | 'revoked' | 'same_id' | 'same_request' | 'published' | 'waiting'
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
  const group = (maxBatchSize: number) =>
    grouped<Publication, PublishOutcome>({
      keyOf: ({ projectId, outgoing }) => `${projectId} ${outgoing.events[0]?.id}`,
      maxBatchSize,
      flush: (db, all) => withoutRace(() => publishAll(db, all, receivers)),
    })
  const single = group(MOST_EVENTS)
  const batches = group(2)
  return (publication) => (publication.outgoing.events.length === 1 ? single : batches)(publication)
}

const UNIQUE_VIOLATION = '23505'

/** Another commit stored an id or a request between the look and the insert: now it is found. */
export const withoutRace = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (codeOf(error) === UNIQUE_VIOLATION) return work()
    throw error
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

/** Returns undefined if a webhook has changed. Then nothing is written. */
async function publishTo(
  db: Queries,
  all: readonly Publication[],
  known: Known,
): Promise<PublishOutcome[] | undefined> {
  const { receivers, mustMatch } = known
  const parts = all.map(({ outgoing, request }) => {
    const marked = { ...outgoing, events: ofRequest(outgoing.events, request) }
    const fannedOut = fanOutTo(marked, receivers, NO_HOOKS)
    const { events } = fannedOut
    const fits =
      events.length === 1 ? 1 : eventsThatFit(events.map(({ deliveries }) => deliveries.length))
    return { ...fannedOut, fits, isRefused: fits < events.length }
  })
  const rows = parts.flatMap(({ events, isRefused }, at) => {
    const { apiKeyId, request } = all[at] as Publication
    return isRefused
      ? []
      : eventRows(events).map((row) => ({
          place: at + 1,
          ...row,
          apiKeyId,
          askedKey: request?.key,
        }))
  })
  const topics = mustMatch ? [...receivers.values()] : []
  const found = await publishCall(
    db,
    {
      events: jsonRows(rows),
      topics: jsonRows(topics.map((topic) => ({ ...askedFor(topic), version: topic.version }))),
    },
    all,
  )
  if (found[0]?.kind === 'changed') return undefined
  const waiting = new Set(found.at(-1)?.waiting)
  const results: PublishOutcome[] = []
  for (const [at, publication] of all.entries()) {
    const own = found.filter(({ place }) => place === at + 1)
    const { claims, fits, isRefused } = parts[at] as (typeof parts)[number]
    if (isRefused) results.push({ kind: 'too_many_deliveries', fits })
    else if (own[0]?.kind === 'published')
      results.push({ kind: 'published', ...notWaiting(claims, waiting) })
    else results.push(await decided(db, publication, own, known))
  }
  return results
}

/** Decides about a publication whose key is revoked, or of which something is stored already. */
async function decided(
  db: Queries,
  publication: Publication,
  found: readonly Found[],
  known: Known,
): Promise<PublishOutcome> {
  if (found.some(({ kind }) => kind === 'revoked')) return { kind: 'key_revoked' }
  const { outgoing, request } = publication
  const sameIds = found.filter(({ kind }) => kind === 'same_id') as (Found & SameId)[]
  const stored = found.find(({ kind }) => kind === 'same_request')?.fingerprint ?? undefined
  const decision = decidePublish(outgoing.events, sameIds, {
    ...(request && { asked: request }),
    stored,
  })
  if (decision.kind !== 'new') return decision
  const rest = { ...publication, outgoing: { ...outgoing, events: decision.events } }
  const [published] = (await publishTo(db, [rest], { ...known, mustMatch: false })) ?? []
  return published ?? { kind: 'replayed' }
}

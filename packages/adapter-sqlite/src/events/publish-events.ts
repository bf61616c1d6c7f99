import type { Database } from 'better-sqlite3'
import {
  countOfPublish,
  decidePublish,
  type Publication,
  type PublishOutcome,
  type SameId,
} from '@org/agent-messaging-core/storage'
import type { CountEntries } from '../messages/counts.js'
import type { SendBuckets } from '../messages/send-buckets.js'
import type { WebhookRows } from '../webhooks/receivers.js'
import { receiversOf, type FanOut } from './fan-out.js'

export type PublishParts = {
  readonly webhooks: WebhookRows
  readonly fanOut: FanOut
  readonly counts: CountEntries
  readonly buckets: SendBuckets
}

/** `EventStore.publish`, in a transaction. */
export function publishing(
  db: Database,
  { webhooks, fanOut, counts, buckets }: PublishParts,
): (publication: Publication) => PublishOutcome {
  const isKeyValid = db.prepare<[string]>(
    'select 1 from api_keys where id = ? and revoked_at is null',
  )
  const agentExists = db.prepare<[string, string]>(
    'select 1 from agents where id = ? and project_id = ?',
  )
  const byId = db.prepare<[string, string], SameId>(
    'select id, fingerprint from events where id = ? and project_id = ?',
  )
  const byRequest = db
    .prepare<[string, string], string>(
      'select fingerprint from publish_requests where request_key = ? and project_id = ?',
    )
    .pluck()
  const remember = db.prepare<[string, string, string, number]>(
    'insert into publish_requests (request_key, project_id, fingerprint, created_at) values (?, ?, ?, ?)',
  )

  return ({ projectId, outgoing, request, takes, apiKeyId }) => {
    if (apiKeyId !== undefined && !isKeyValid.get(apiKeyId)) return { kind: 'key_revoked' }
    const now = outgoing.events[0]?.createdAt ?? 0
    const stored = request && byRequest.get(request.key, projectId)
    const decided = decidePublish(outgoing.events, {
      sameIds: outgoing.events.flatMap(({ id }) => byId.get(id, projectId) ?? []),
      asked: request,
      stored,
      deliveriesOf: (event) => receiversOf(webhooks, event).length,
      hasAgent: ({ agentId }) => agentId === undefined || !!agentExists.get(agentId, projectId),
    })
    const keepRequest = () =>
      request && stored === undefined
        ? remember.run(request.key, projectId, request.fingerprint, now)
        : undefined
    if (decided.kind === 'replayed') keepRequest()
    if (decided.kind !== 'new') return decided
    const { events } = decided
    const { length } = events
    const taken = takes && buckets.take(takes, now, length)
    if (taken?.isTaken === false) return { kind: 'rate_limited', levels: taken.levels }
    keepRequest()
    counts.add(countOfPublish(events))
    taken?.store()
    const levels = taken && { levels: taken.levels }
    return { kind: 'published', events: length, ...levels, ...fanOut({ ...outgoing, events }) }
  }
}

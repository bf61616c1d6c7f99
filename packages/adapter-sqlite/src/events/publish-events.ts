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
  const byId = db.prepare<[string, string], SameId>(
    'select id, fingerprint from events where id = ? and project_id = ?',
  )
  const byRequest = db
    .prepare<[string, string], string>(
      'select request_fingerprint from events where request_key = ? and project_id = ?',
    )
    .pluck()

  return ({ projectId, outgoing, request, takes, apiKeyId }) => {
    if (apiKeyId !== undefined && !isKeyValid.get(apiKeyId)) return { kind: 'key_revoked' }
    const decided = decidePublish(outgoing.events, {
      sameIds: outgoing.events.flatMap(({ id }) => byId.get(id, projectId) ?? []),
      asked: request,
      stored: request && byRequest.get(request.key, projectId),
      deliveriesOf: (event) => receiversOf(webhooks, event).length,
    })
    if (decided.kind !== 'new') return decided
    const { events } = decided
    const { length } = events
    const taken = takes && buckets.take(takes, events[0]?.createdAt ?? 0, length)
    if (taken?.isTaken === false) return { kind: 'rate_limited', levels: taken.levels }
    counts.add(countOfPublish(events))
    taken?.store()
    const levels = taken && { levels: taken.levels }
    return { kind: 'published', events: length, ...levels, ...fanOut({ ...outgoing, events }) }
  }
}

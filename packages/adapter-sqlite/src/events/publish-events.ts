import type { Database } from 'better-sqlite3'
import {
  decidePublish,
  eventsThatFit,
  type Publication,
  type PublishOutcome,
  type SameId,
} from '@org/agent-messaging-core/storage'
import type { CountEntries } from '../messages/counts.js'
import type { WebhookRows } from '../webhooks/receivers.js'
import { receiversOf, type FanOut } from './fan-out.js'

export type PublishParts = {
  readonly webhooks: WebhookRows
  readonly fanOut: FanOut
  readonly counts: CountEntries
}

/** `EventStore.publish`, in a transaction. */
export function publishing(
  db: Database,
  { webhooks, fanOut, counts }: PublishParts,
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

  return ({ projectId, outgoing, request, apiKeyId, count }) => {
    if (apiKeyId !== undefined && !isKeyValid.get(apiKeyId)) return { kind: 'key_revoked' }
    const decided = decidePublish(
      outgoing.events,
      outgoing.events.flatMap(({ id }) => byId.get(id, projectId) ?? []),
      {
        ...(request && { asked: request, stored: byRequest.get(request.key, projectId) }),
      },
    )
    if (decided.kind !== 'new') return decided
    const { events } = decided
    if (events.length > 1) {
      const fits = eventsThatFit(events.map((event) => receiversOf(webhooks, event).length))
      if (fits < events.length) return { kind: 'too_many_deliveries', fits }
    }
    counts.add(count)
    return { kind: 'published', ...fanOut({ ...outgoing, events }) }
  }
}

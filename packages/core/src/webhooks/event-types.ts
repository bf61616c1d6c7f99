import { ok, okAsync, safeTry } from 'neverthrow'
import { auditEntry, changedFields, type AuditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { filled } from '../domain/values/given.js'
import { broken, invalid, type Invalid } from '../domain/values/input-rules.js'
import { rulesOf, settingsIn } from '../domain/values/setting.js'
import { eventTypeRule } from '../domain/webhooks/event-name.js'
import {
  dataIssue,
  eventTypeSettings,
  INSTALLATION,
  listedType,
  ownEventTypes,
  type EventType,
  type EventTypeSettings,
} from '../domain/webhooks/event-type.js'
import { chain, existing } from '../pacing/chain.js'
import type { Changing, Platform, Reading } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'

/** Without a project: a type of the installation, which all projects have. */
export type EventTypeOwner = { readonly projectId?: string | undefined }
export type EventTypeRef = EventTypeOwner & { readonly name: string }
export type PutEventTypeInput = EventTypeRef & EventTypeSettings & ByActor
export type PutEventTypeError =
  | Invalid
  | Unavailable
  | { readonly kind: 'event_type_taken' | 'too_many_event_types' | 'project_not_found' }

const entryOf = (
  d: Changing,
  { projectId = INSTALLATION, name, actor }: EventTypeRef & ByActor,
  change: Pick<AuditEntry, 'action' | 'fields'>,
) => auditEntry(d, { projectId, actor, targetId: name, ...change })

export const putEventType =
  (d: Changing & Pick<Platform, 'policy'>) =>
  ({ projectId, name, actor, ...given }: PutEventTypeInput) =>
    safeTry(async function* () {
      const rules = { name: eventTypeRule(name), ...rulesOf(eventTypeSettings, given) }
      const problem = broken(rules)
      if (problem) return problem
      const settings = settingsIn(eventTypeSettings, filled(given))
      const { schema, example } = settings
      const issue = example && dataIssue(schema, example, 'example')
      if (issue) return invalid(issue.path, issue.message)
      const now = d.clock.now()
      const type: EventType = {
        ...{ deprecated: false, visible: false, ...settings },
        ...{ name, createdAt: now, updatedAt: now },
        definedBy: projectId === undefined ? 'installation' : 'project',
      }
      const entry = { action: 'event_type.saved', fields: changedFields(settings) } as const
      const put = yield* chain(
        d.storage.eventTypes.put(
          projectId,
          type,
          d.policy.limits.eventTypesPerProject,
          entryOf(d, { projectId, name, actor }, entry),
        ),
      )
      if (put === 'name_taken') return fail('event_type_taken')
      if (put === 'limit_reached') return fail('too_many_event_types')
      return put === 'project_not_found' ? fail(put) : ok(put)
    })

export const deleteEventType = (d: Changing) => (ref: EventTypeRef & ByActor) => {
  const audit = entryOf(d, ref, { action: 'event_type.deleted' })
  const { projectId, name } = ref
  return existing(d.storage.eventTypes.delete(projectId, name, audit), 'event_type_not_found').map(
    () => undefined,
  )
}

export const getEventType =
  (d: Reading) =>
  ({ projectId, name }: EventTypeRef) => {
    const own = ownEventTypes.filter((type) => type.name === name)
    const found =
      own.length > 0 ? okAsync(own) : chain(d.storage.eventTypes.find(projectId, [name]))
    return found.andThen(([type]) => (type ? ok(type) : fail('event_type_not_found')))
  }

/** Lists all types: those of the service first, and then the others by name. */
export const listEventTypes =
  (d: Reading) =>
  ({ projectId }: EventTypeOwner) =>
    chain(d.storage.eventTypes.list(projectId)).map((types) => ({
      data: [...ownEventTypes.map(listedType), ...types],
      nextCursor: null,
    }))

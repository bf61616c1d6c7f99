import type { Instant } from '../values/instant.js'
import type { Json } from '../values/json.js'

export const ACTOR_KINDS = [
  'key',
  'platform',
  'user',
  'operator',
  'console',
  'portal',
  'link',
  'cli',
  'host',
] as const

/**
 * The person or program that makes a change. `id` is the API key's id for `key`,
 * `platform` and `console`, the portal session's id for `portal`, and the `caller` of an `Access` for `user`. `link` is the
 * visitor of a one-time link. `host` is a program that embeds the service.
 */
export type Actor = {
  readonly kind: (typeof ACTOR_KINDS)[number]
  readonly id?: string
  /** The name of the API key, or the title of the portal link. */
  readonly name?: string
}

export const AUDIT_ACTIONS = [
  'project.created',
  'project.updated',
  'key.created',
  'key.revoked',
  'webhook.created',
  'webhook.updated',
  'webhook.paused',
  'webhook.resumed',
  'webhook.secret_rotated',
  'webhook.rotation_finished',
  'webhook.deleted',
  'agent.created',
  'agent.updated',
  'agent.started',
  'agent.stopped',
  'agent.deleted',
  'recovery.started',
  'recovery.cancelled',
  'recovery.continued',
  'event_type.saved',
  'event_type.deleted',
  'portal.created',
  'portal.ended',
  'session.erased',
  'principal.erased',
  'input.answered',
  'input.withdrawn',
  'message.retried',
  'message.cancelled',
  'delivery.cancelled',
  'delivery.redelivered',
  'list.downloaded',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * One change that a person or a program made. An entry has the values of an allow-list of fields,
 * and never the id of a session or of an end user. The actor `user` is a person, though.
 */
export type AuditEntry = {
  readonly id: string
  readonly projectId: string
  readonly actor: Actor
  readonly action: AuditAction
  /**
   * The id of the changed project, key, webhook, agent, recovery, portal session, message or
   * delivery. The agent's id for an erased session, and the project's id for an erased principal.
   * The name of an event type or of a downloaded list.
   */
  readonly targetId: string
  /** The name that the agent, webhook, key, portal link or project had. */
  readonly targetName?: string
  /** The messages of an erased principal that the call found. */
  readonly count?: number
  /** The names of the fields that an update set. */
  readonly fields?: readonly string[]
  /** By field, the old and the new value. Absent: not set. */
  readonly changes?: Readonly<Record<string, { readonly from?: Json; readonly to?: Json }>>
  readonly createdAt: Instant
}

/** Results of a store method that changed nothing. */
const UNCHANGED: ReadonlySet<unknown> = new Set([
  undefined,
  false,
  'limit_reached',
  'name_taken',
  'not_stopped',
  'busy',
  'digest_taken',
  'external_id_taken',
  'project_not_found',
  'already_final',
  'already_revoked',
  'already_ended',
  'not_waiting',
  'not_retryable',
  'agent_not_running',
  'session_full',
])

/** Returns true if a result of a store method means that the log gets an entry. */
export const isAuditedChange = (result: unknown): boolean => !UNCHANGED.has(kindOf(result))

const kindOf = (result: unknown): unknown =>
  typeof result === 'object' && result !== null && 'kind' in result ? result.kind : result

/** A call that the audit log records. */
export type ByActor = {
  /** The actor that the entry names. Default: `host`. */
  readonly actor?: Actor | undefined
}

/** A list of rows, such as `deliveries`, that a person takes away as a file. */
export type DownloadOf = ByActor & { readonly projectId: string; readonly list: string }

/** The ports that the id and the time of an entry come from. */
type Author = { readonly ids: { next(): string }; readonly clock: { now(): Instant } }

export const auditEntry = (
  { ids, clock }: Author,
  {
    actor = { kind: 'host' },
    ...change
  }: Pick<AuditEntry, 'projectId' | 'action' | 'targetId' | 'targetName' | 'count' | 'fields'> &
    ByActor,
): AuditEntry => ({ id: ids.next(), actor, createdAt: clock.now(), ...change })

/** Returns the names of the fields that the change sets, sorted. */
export const changedFields = (change: object): string[] =>
  Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name)
    .sort()

import type { Agent } from '../agents/agent.js'
import type { Webhook } from '../webhooks/webhook.js'
import type { ApiKey } from './api-key.js'
import type { AuditEntry } from './audit.js'
import type { SendLimits } from './send-limit.js'

/** The facts of an agent, a webhook, a key, a portal link or a project that the log can show. */
export type AuditedRow = Partial<
  Pick<Agent, 'name' | 'desiredState' | 'concurrency' | 'maxAttempts' | 'maxQueued'> &
    Pick<
      Webhook,
      'description' | 'url' | 'events' | 'ordering' | 'payload' | 'isPaused' | 'status' | 'sending'
    > &
    Pick<ApiKey, 'permissions'>
> & {
  readonly title?: string
  readonly isReadOnly?: boolean
  readonly deprecated?: boolean
  readonly visible?: boolean
  readonly sendLimits?: SendLimits
}

/** The values that an entry shows. No other value of a row gets into the log. */
const VALUES: Readonly<Record<string, (row: AuditedRow) => unknown>> = {
  permissions: ({ permissions }) => permissions,
  readOnly: ({ isReadOnly }) => (isReadOnly === true ? true : undefined),
  sendLimits: ({ sendLimits }) => sendLimits,
  desiredState: ({ desiredState }) => desiredState,
  concurrency: ({ concurrency }) => concurrency,
  maxAttempts: ({ maxAttempts }) => maxAttempts,
  maxQueued: ({ maxQueued }) => maxQueued,
  url: ({ url }) => url && originOf(url),
  events: ({ events }) => events,
  ordering: ({ ordering }) => ordering,
  payload: ({ payload }) => payload,
  paused: ({ isPaused }) => isPaused,
  enabled: ({ status }) => status && status.kind === 'enabled',
  deprecated: ({ deprecated }) => deprecated,
  visible: ({ visible }) => visible,
  maxConcurrency: ({ sending }) => sending?.maxConcurrency,
  requestsPerSecond: ({ sending }) => sending?.requestsPerSecond,
}

/** The rest of a URL can contain secrets. */
function originOf(url: string): string {
  const { origin, protocol } = new URL(url)
  return origin === 'null' ? protocol : origin
}

/** Adds the name of the target, and the values that the change replaces. */
export function auditedChange(
  entry: AuditEntry,
  after: AuditedRow,
  before: AuditedRow = after,
): AuditEntry {
  const { name, title, description, url } = before === NO_ROW ? after : before
  const targetName = name ?? title ?? description ?? (url && originOf(url))
  const changes = Object.entries(VALUES).flatMap(([field, valueOf]) => {
    const [from, to] = [valueOf(before), valueOf(after)]
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [[field, { from, to }]]
  })
  return {
    ...entry,
    ...(targetName !== undefined && { targetName }),
    ...(changes.length > 0 && { changes: Object.fromEntries(changes) }),
  }
}

/** The row before its creation. */
export const NO_ROW: AuditedRow = {}

type Changed = {
  readonly fields?: readonly string[]
  readonly changes?: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>
}

/** Returns the changed fields with their values, such as `paused: false → true`. */
export const changeTexts = ({ fields = [], changes = {} }: Changed): string[] =>
  [...new Set([...fields, ...Object.keys(changes)])].map((field) => {
    const change = changes[field]
    return change ? `${field}: ${textOf(change.from)} → ${textOf(change.to)}` : field
  })

const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(', ')
  if (value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

import type { Actor, AuditEntry } from '../domain/access/audit.js'
import type { AuditFilter } from '../ports/audit-store.js'

/** An entry of the audit log. `fields` and `changes` are JSON. */
export type AuditRow = {
  readonly id: string
  readonly projectId: string
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly actorName: string | null
  readonly action: AuditEntry['action']
  readonly targetId: string
  readonly targetName: string | null
  readonly count: number | null
  readonly fields: string | null
  readonly changes: string | null
  readonly createdAt: number
}

export const AUDIT_COLUMNS = [
  'id',
  'projectId',
  'actorKind',
  'actorId',
  'actorName',
  'action',
  'targetId',
  'targetName',
  'count',
  'fields',
  'changes',
  'createdAt',
] as const satisfies readonly (keyof AuditRow)[]

export const toAuditEntry = (row: AuditRow): AuditEntry => ({
  id: row.id,
  projectId: row.projectId,
  actor: {
    kind: row.actorKind,
    ...(row.actorId !== null && { id: row.actorId }),
    ...(row.actorName !== null && { name: row.actorName }),
  },
  action: row.action,
  targetId: row.targetId,
  ...(row.targetName !== null && { targetName: row.targetName }),
  ...(row.count !== null && { count: row.count }),
  ...(row.fields !== null && { fields: JSON.parse(row.fields) as string[] }),
  ...(row.changes !== null && {
    changes: JSON.parse(row.changes) as NonNullable<AuditEntry['changes']>,
  }),
  createdAt: row.createdAt,
})

export const auditColumns = (entry: AuditEntry): AuditRow => ({
  id: entry.id,
  projectId: entry.projectId,
  actorKind: entry.actor.kind,
  actorId: entry.actor.id ?? null,
  actorName: entry.actor.name ?? null,
  action: entry.action,
  targetId: entry.targetId,
  targetName: entry.targetName ?? null,
  count: entry.count ?? null,
  fields: entry.fields ? JSON.stringify(entry.fields) : null,
  changes: entry.changes ? JSON.stringify(entry.changes) : null,
  createdAt: entry.createdAt,
})

const CONDITIONS = {
  projectId: 'project_id = @projectId',
  action: 'action = @action',
  actorKind: 'actor_kind = @actorKind',
  targetId: 'target_id = @targetId',
} as const satisfies Record<keyof AuditFilter, string>

/** Returns the conditions of a list, each followed by `and`. Their values are named parameters. */
export const auditConditions = (filter: AuditFilter): string =>
  Object.entries(CONDITIONS)
    .filter(([name]) => filter[name as keyof AuditFilter] !== undefined)
    .map(([, condition]) => `${condition} and `)
    .join('')

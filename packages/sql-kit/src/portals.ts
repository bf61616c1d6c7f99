import type { Instant } from '@org/agent-messaging-core'
import {
  insertList,
  NO_ROW,
  PORTAL_COLUMNS,
  portalColumns,
  selectList,
  toPortalSession,
  type PortalRow,
  type PortalSession,
  type PortalStore,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import type { Dialect } from './dialect.js'
import { one, run, sql, type Operation, type Runner, type Sql } from './operation.js'
import { countIn, lockProject } from './pages.js'

type Digest = { readonly digest: string }
type Ending = { readonly id: string; readonly projectId: string; readonly now: Instant }

const list = selectList(PORTAL_COLUMNS)
const select = ({ schema }: Dialect): string => `select ${list} from ${schema}portal_sessions`
const byId = sql<Pick<Ending, 'id'>, PortalRow>((d) => `${select(d)} where id = @id`)
const byDigest = sql<Digest, PortalRow>((d) => `${select(d)} where digest = @digest`)
const deleteOld = sql<{ readonly createdAt: Instant }>(
  ({ schema }) => `delete from ${schema}portal_sessions where until <= @createdAt`,
)
const count = countIn('portal_sessions')
const insert = sql<PortalRow & Digest>(
  ({ schema }) =>
    `insert into ${schema}portal_sessions ${insertList([...PORTAL_COLUMNS, 'digest'])}`,
)
const open = sql<Digest & { readonly now: Instant }, PortalRow>(
  ({ schema }) => `
    update ${schema}portal_sessions set opened_at = @now
    where digest = @digest and opened_at is null and ended_at is null and link_until > @now
    returning ${list}`,
)
const end = sql<Ending>(
  ({ schema }) => `
    update ${schema}portal_sessions set ended_at = @now
    where id = @id and project_id = @projectId and ended_at is null`,
)

function* find<P extends object>(
  statement: Sql<P, PortalRow>,
  parameters: P,
): Operation<PortalSession | undefined> {
  const row = yield* one<P, PortalRow>(statement, parameters)
  return row && toPortalSession(row)
}

export const portalStore = ({ read, write }: Runner): PortalStore => ({
  create: write(function* (session, digest, limit, audit) {
    if (yield* one(byId, session)) return 'created'
    if ((yield* run(lockProject, session)) === 0) return 'project_not_found'
    yield* run(deleteOld, session)
    if ((yield* count(session)) >= limit) return 'limit_reached'
    yield* run(insert, { ...portalColumns(session), digest })
    yield* record(audit, session, NO_ROW)
    return 'created'
  }),
  open: write((digest, now) => find(open, { digest, now })),
  findByDigest: read((digest) => find(byDigest, { digest })),
  find: read((id) => find(byId, { id })),
  end: write(function* (projectId, id, now, audit) {
    const isEnded = (yield* run(end, { projectId, id, now })) === 1
    const row = yield* one(byId, { id })
    if (row && isEnded) {
      yield* record(audit, toPortalSession(row))
      return 'ended'
    }
    return row?.projectId === projectId ? 'already_ended' : undefined
  }),
})

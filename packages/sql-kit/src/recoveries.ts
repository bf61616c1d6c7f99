import type { Instant, Recovery } from '@org/agent-messaging-core'
import {
  assignments,
  insertList,
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  RETRY_PAUSE_MS,
  decidedRecovery,
  finishedAtOf,
  recoveryAfterPage,
  recoveryColumns,
  selectList,
  toRecovery,
  toRecoveryTask,
  triedState,
  type CountedRecoveryRow,
  type Purge,
  type RecoveryRow,
  type RecoveryStep,
  type RecoveryStore,
  type RecoveryTask,
  type Settlement,
  type Tries,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { atMost, type Dialect } from './dialect.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { pagesOf, countIn, lockProject, type OfProject } from './pages.js'
import { redeliver } from './redelivery.js'
import { replayPage } from './replay.js'
import { retriedCounts, retryPage } from './retried-messages.js'

type Ref = OfProject & { readonly id: string }
type Columns = Omit<RecoveryRow, 'seq'>
type Seq = { readonly seq: number }
type Settled = Seq &
  Pick<Recovery, 'delivered' | 'exhausted' | 'cancelled'> & {
    readonly state: string
    readonly finishedAt: Instant | null
  }

const select = ({ schema }: Dialect): string =>
  `select seq, ${selectList(RECOVERY_COLUMNS)} from ${schema}recoveries`
const lock = sql<Ref, RecoveryRow>(
  (d) => `${select(d)} where project_id = @projectId and id = @id ${d.lock('update')}`,
)

/** The deliveries that count for a recovery `r`. */
const counted = ({ schema }: Dialect): string =>
  `from ${schema}deliveries d where d.recovery_seq = r.seq`
/** The deliveries that have left a recovery `r`. */
const left = ({ schema }: Dialect): string =>
  `from ${schema}recovery_leavers l where l.recovery_seq = r.seq`
const countOpen = (d: Dialect, name: 'waiting' | 'failing', which: string): string =>
  `case when r.delivered is not null then 0 else (
    select count(*) ${counted(d)} and d.state in ('pending', 'sending') and ${which})
    + ${retriedCounts(d)[name]} end as ${name}`
const ENDED = ['delivered', 'exhausted', 'cancelled'] as const
const countEnded = (d: Dialect, state: (typeof ENDED)[number]): string =>
  `coalesce(r.${state}, (select count(*) ${counted(d)} and d.state = '${state}') + (
    select count(*) ${left(d)} and l.state = '${state}') + ${retriedCounts(d)[state]}) as ${state}`
const anOpen = (d: Dialect): string =>
  `(exists (select 1 ${counted(d)} and d.state in ('pending', 'sending'))
    or ${retriedCounts(d).anOpen})`
const whenEnded = (d: Dialect, select: string): string =>
  `case when r.state = 'sending' and not ${anOpen(d)} then (${select}) end`
/** The tries go from the newest delivery to the oldest. */
const lastTry = (d: Dialect, column: string): string =>
  `case when r.state = 'paused' then (
    select ${column} from ${d.schema}deliveries d
    where d.seq = (select min(d.seq + 0) ${counted(d)})) end`
/**
 * One statement, so that the counts are of one moment. Adding 0 keeps PostgreSQL from walking the
 * index of all ended deliveries, or of all deliveries.
 */
const selectCounted = (d: Dialect): string => `
  select r.seq, ${selectList(RECOVERY_COLUMNS, 'r')},
    ${countOpen(d, 'waiting', 'd.attempt_count <= d.recovery_attempts')},
    ${countOpen(d, 'failing', 'd.attempt_count > d.recovery_attempts')},
    ${ENDED.map((state) => countEnded(d, state)).join()},
    coalesce(${whenEnded(d, `select max(d.finished_at + 0) ${counted(d)}`)},
      ${whenEnded(d, retriedCounts(d).lastEndAt)}) as "lastEndAt",
    ${whenEnded(d, `select max(l.finished_at) ${left(d)}`)} as "lastLeftAt",
    ${lastTry(d, 'd.id')} as "triedDeliveryId",
    ${lastTry(d, 'd.recovery_attempts + 1')} as "triedAttempt"
  from ${d.schema}recoveries r`
const ofProject = (d: Dialect): string => `${selectCounted(d)} where r.project_id = @projectId`
export const countedRecovery = sql<Ref, CountedRecoveryRow>((d) => `${ofProject(d)} and r.id = @id`)
/** An update by another transaction ends its pause. */
const cancelPaused = sql<Settlement>(
  ({ schema, among }) => `
    update ${schema}recoveries set state = 'cancelled', finished_at = @now
    where state = 'paused' and ${among(
      'seq',
      `select seq from ${schema}recoveries
      where state = 'paused' and last_page_at < @pausedBefore
      order by last_page_at ${atMost('@limit')}`,
    )}`,
)
export const unsettledRecoveries = sql<{ readonly limit: number }, CountedRecoveryRow>(
  (d) => `
    ${selectCounted(d)} where r.delivered is null and r.state not in ('running', 'trying', 'paused')
      and not ${anOpen(d)}
    order by r.seq ${atMost('@limit')} ${d.lock('update of r skip locked')}`,
)
const settle = sql<Settled>(
  ({ schema }) => `
    update ${schema}recoveries set state = @state, finished_at = @finishedAt,
      delivered = @delivered, exhausted = @exhausted, cancelled = @cancelled
    where seq = @seq`,
)
const forgetLeavers = sql<Purge>(
  (d) => `
    delete from ${d.schema}recovery_leavers where ${d.among(
      'seq',
      `select l.seq from ${d.schema}recoveries r
        ${d.join} ${d.schema}recovery_leavers l on l.recovery_seq = r.seq
      where r.delivered is not null and r.finished_at is not null ${atMost('@limit')}`,
    )}`,
)
/**
 * The row's lock is the claim of the page. It ends with the commit, or with the connection. A retry
 * that waits has its next turn at `last_page_at`, unless the clock was set back.
 */
const next = sql<{ readonly now: Instant }, RecoveryRow>(
  (d) => `
    ${select(d)} r where state in ('running', 'trying')
      and (last_page_at <= @now or last_page_at > @now + ${2 * RETRY_PAUSE_MS})
      and (state = 'running' or not exists (
        select 1 ${counted(d)} and d.state in ('pending', 'sending')
          and d.attempt_count <= d.recovery_attempts))
    order by last_page_at, seq limit 1 ${d.lock('update of r skip locked')}`,
)
const tries = sql<Seq, Tries & { readonly waiting: number }>(
  ({ schema }) => `
    select coalesce(sum(case when state in ('pending', 'sending') then 1 - attempted end), 0)
        as waiting,
      coalesce(sum(case when state = 'delivered' then 1 end), 0) as delivered,
      coalesce(sum(attempted), 0) as attempted
    from (
      select state, case when attempt_count > recovery_attempts then 1 else 0 end as attempted
      from ${schema}deliveries where recovery_seq = @seq
      union all select state, case when state = 'cancelled' then 0 else 1 end
      from ${schema}recovery_leavers where recovery_seq = @seq) as found`,
)
const countRunning = countIn('recoveries', () => "state in ('running', 'trying', 'paused')")
const webhook = sql<{ readonly webhookId: string }>(
  ({ schema, not }) =>
    `select 1 from ${schema}webhooks where id = @webhookId and ${not('is_deleted')}`,
)
const insert = sql<Columns>(
  ({ schema }) => `insert into ${schema}recoveries ${insertList(RECOVERY_COLUMNS)}`,
)
const update = sql<Columns>(
  ({ schema }) => `update ${schema}recoveries set ${assignments(RECOVERY_UPDATE)} where id = @id`,
)
const purge = sql<Purge>(
  ({ schema, among }) => `
    delete from ${schema}recoveries where ${among(
      'seq',
      `select seq from ${schema}recoveries
      where finished_at < @finishedBefore and delivered is not null
      order by finished_at ${atMost('@limit')}`,
    )}`,
)

function* save(recovery: RecoveryTask, now: Instant): Operation<RecoveryTask> {
  yield* run(update, recoveryColumns(recovery, now))
  return recovery
}

/** Deliveries that one list counts. Counting them takes about 20 ms. */
const MOST_COUNTED = 100_000
type Cost = { readonly id: string; readonly cost: number }
const costs = pagesOf<Cost, Cost>(
  'recoveries',
  ({ schema }) => `
    select id, case when delivered is null then redelivered else 0 end as cost
    from ${schema}recoveries where project_id = @projectId`,
  (row) => row,
)
const counts = pagesOf('recoveries', ofProject, toRecovery)

/** Returns the number of rows that a list can count, at least 1. */
function withinCost(rows: readonly Cost[]): number {
  let sum = 0
  const end = rows.findIndex(({ cost }) => (sum += cost) > MOST_COUNTED)
  return Math.max(1, end === -1 ? rows.length : end)
}

/** `RecoveryStore.advance`. */
function* advance(step: RecoveryStep): Operation<RecoveryTask | undefined> {
  const { limit, now } = step
  const row = yield* one(next, { now })
  if (!row) return undefined
  const recovery = toRecoveryTask(row)
  const { id, projectId, filter, cursor, createdAt } = recovery
  const { webhookId, agentId, webhookIds } = filter
  if (agentId !== undefined) {
    const { waits, ...retried } = yield* retryPage(recovery, row.seq, { limit, now })
    const task = { id, projectId, filter, createdAt, ...retried }
    return yield* save(task, waits ? now + RETRY_PAUSE_MS : now)
  }
  const replayed = webhookIds && (yield* replayPage(recovery, webhookIds, row.seq, step))
  if (replayed) {
    const page = recoveryAfterPage(recovery, { ...replayed, matched: replayed.count })
    return yield* save({ id, projectId, filter, createdAt, ...page }, now)
  }
  const isGone = webhookId !== undefined && !(yield* one(webhook, { webhookId }))
  if (webhookIds || isGone) {
    const state = { kind: 'failed', finishedAt: now, reason: 'webhook_deleted' } as const
    return yield* save({ ...recovery, state }, now)
  }
  const { seq } = row
  const isTry = recovery.state.kind === 'trying'
  const tried = isTry ? yield* one(tries, { seq }) : undefined
  if (tried) {
    // On PostgreSQL, `next` can miss a delivery that another process made due before the lock.
    if (tried.waiting > 0) return recovery
    const state = triedState(tried)
    if (state.kind !== 'trying') return yield* save({ ...recovery, state }, now)
  }
  const page = { limit, cursor }
  const counting = { seq, isTry }
  const found = { ...filter, projectId, withoutHooks: true }
  const recovered = yield* redeliver(found, page, now, undefined, counting)
  const progress = recoveryAfterPage(recovery, recovered)
  return yield* save({ id, projectId, filter, createdAt, ...progress }, now)
}

export const recoveryStore = ({ read, write }: Runner): RecoveryStore => ({
  create: write(function* (recovery, limit, audit) {
    yield* run(lockProject, recovery)
    if (yield* one(countedRecovery, recovery)) return 'created'
    if ((yield* countRunning(recovery)) >= limit) return 'limit_reached'
    yield* run(insert, recoveryColumns(recovery, recovery.createdAt))
    yield* record(audit)
    return 'created'
  }),
  get: read(function* (projectId, id) {
    const row = yield* one(countedRecovery, { projectId, id })
    return row && toRecovery(row)
  }),
  list: read(function* (projectId, page) {
    const { data } = yield* costs(projectId, page)
    return yield* counts(projectId, { ...page, limit: withinCost(data) })
  }),
  decide: write(function* (projectId, id, decision, now, audit) {
    const ref = { projectId, id }
    const row = yield* one(lock, ref)
    if (!row) return undefined
    const task = toRecoveryTask(row)
    const state = decidedRecovery(task.state, decision, now)
    if (!state) return 'too_late'
    yield* record(audit)
    yield* save({ ...task, state }, now)
    const decided = yield* one(countedRecovery, ref)
    return decided && toRecovery(decided)
  }),
  advance: write(advance),
  settle: write(function* (step) {
    yield* run(cancelPaused, step)
    const settled = (yield* all(unsettledRecoveries, step)).map((row) => ({
      row,
      recovery: toRecovery(row),
    }))
    for (const { row, recovery } of settled) {
      const { seq } = row
      const { state, delivered, exhausted, cancelled } = recovery
      const finishedAt = finishedAtOf(state)
      yield* run(settle, { seq, state: state.kind, finishedAt, delivered, exhausted, cancelled })
    }
    return settled.map(({ recovery }) => recovery)
  }),
  purge: write(function* (before) {
    const forgotten = yield* run(forgetLeavers, before)
    const limit = before.limit - forgotten
    return forgotten + (limit > 0 ? yield* run(purge, { ...before, limit }) : 0)
  }),
})

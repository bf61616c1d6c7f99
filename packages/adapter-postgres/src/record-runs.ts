import {
  messageOf,
  messageStateColumns,
  traceColumn,
  type MessageFacts,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { fanOuts, type Born, type FanOut } from './fan-out.js'
import { sql } from './sql.js'

type Settled = MessageFacts & { readonly place: number; readonly sessionWaits: boolean }

const settleSql = sql<ReturnType<typeof columnsOf>, Settled>(`
  select * from agent_messaging.settle_runs(@messageIds, @tokens, @states, @notBefores, @finishedAts, @responseTimes, @responses, @errors,
    @nows, @eventIds, @eventNames, @bodies, @traces, @toldAts, @projectIds, @deliveryIds, @webhookSeqs, @dueAts, @leases)`)

/** `MessageStore.recordRun` of many, each of another message. To whom an event goes is read before: that may change at any moment. */
export async function recordRuns(db: Queries, runs: readonly RunRecord[]): Promise<RecordedRun[]> {
  const told = await fanOuts(
    db,
    runs.map(({ outgoing }) => outgoing),
  )
  const settled = new Map(
    (await db.all(settleSql, columnsOf(runs, told))).map((row) => [row.place - 1, row]),
  )
  return runs.map(({ state }, at) => {
    const row = settled.get(at)
    if (!row) return { kind: 'lease_lost' }
    return {
      kind: 'recorded',
      message: messageOf(row, state),
      deliveries: told[at]?.claimed ?? [],
      sessionWaits: row.sessionWaits,
    }
  })
}

function columnsOf(runs: readonly RunRecord[], told: readonly FanOut[]) {
  const states = runs.map(({ state }) => messageStateColumns(state))
  const born = told.map((one) => one.born)
  // An event that nobody is to hear of is kept nowhere.
  const events = runs.map(({ outgoing }, at) => (born[at]?.length ? outgoing?.event : undefined))
  return {
    messageIds: runs.map(({ messageId }) => messageId),
    tokens: runs.map(({ token }) => token),
    states: states.map(({ state }) => state),
    notBefores: states.map(({ notBefore }) => notBefore),
    finishedAts: states.map(({ finishedAt }) => finishedAt),
    responseTimes: states.map(({ responseTimeMs }) => responseTimeMs),
    responses: states.map(({ response }) => response),
    errors: states.map(({ error }) => error),
    nows: runs.map(({ now }) => now),
    eventIds: events.map((event) => event?.id ?? null),
    eventNames: events.map((event) => event?.name ?? null),
    bodies: events.map((event) => event?.body ?? null),
    traces: events.map((event) => traceColumn(event?.trace)),
    toldAts: events.map((event) => event?.createdAt ?? null),
    projectIds: events.map((event) => event?.projectId ?? null),
    deliveryIds: born.map((some) => arrayOf(some, 'id')),
    webhookSeqs: born.map((some) => arrayOf(some, 'webhookSeq')),
    dueAts: born.map((some) => arrayOf(some, 'dueAt')),
    leases: born.map((some) => arrayOf(some, 'lease')),
  }
}

/** An array within an array, as PostgreSQL writes it: they differ in length. Ids and numbers need no quotes. */
const arrayOf = (born: readonly Born[], column: keyof Born): string =>
  `{${born.map((one) => one[column]).join(',')}}`

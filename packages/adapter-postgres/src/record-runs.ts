import type { MessageStore, RecordedRun } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { fanOuts, type Born, type FanOut } from './fan-out.js'
import { messagesByIds, stateColumns, toMessage } from './message-row.js'
import { sql } from './sql.js'
import { traceColumn } from './trace.js'

export type Run = Parameters<MessageStore['recordRun']>[0]

const recordSql = sql<ReturnType<typeof columnsOf>, { readonly place: number; readonly sessionWaits: boolean }>(`
  select * from agent_messaging.record_runs(@messageIds, @tokens, @states, @notBefores, @finishedAts, @responseTimes, @responses, @errors,
    @nows, @eventIds, @eventNames, @bodies, @traces, @toldAts, @projectIds, @deliveryIds, @webhookSeqs, @dueAts, @leases)`)

/**
 * `MessageStore.recordRun` of many, each of another message. To whom an event goes, and what else a message is, is read before: the first
 * may change at any moment, the second never.
 */
export async function recordRuns(db: Queries, runs: readonly Run[]): Promise<RecordedRun[]> {
  const [told, messages] = await Promise.all([
    fanOuts(
      db,
      runs.map(({ outgoing }) => outgoing),
    ),
    db.all(messagesByIds, { ids: runs.map(({ messageId }) => messageId) }),
  ])
  const rows = new Map(messages.map((row) => [row.id, row]))
  const held = await db.all(recordSql, columnsOf(runs, told))
  const waits = new Map(held.map(({ place, sessionWaits }) => [place - 1, sessionWaits]))
  return runs.map(({ messageId, state }, at) => {
    const [row, sessionWaits] = [rows.get(messageId), waits.get(at)]
    if (!row || sessionWaits === undefined) return { kind: 'lease_lost' }
    return { kind: 'recorded', message: { ...toMessage(row), state }, deliveries: told[at]?.claimed ?? [], sessionWaits }
  })
}

function columnsOf(runs: readonly Run[], told: readonly FanOut[]) {
  const states = runs.map(({ state }) => stateColumns(state))
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
const arrayOf = (born: readonly Born[], column: keyof Born): string => `{${born.map((one) => one[column]).join(',')}}`

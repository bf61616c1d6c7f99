// `node benchmarks/sizes.mjs [messages]`: measures the disk space of a message and the time of its
// purge. A message has an answer (200 characters each), an event, a delivery and an attempt.
import { statSync } from 'node:fs'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { unwrap } from '@org/agent-messaging-testing'
import pg from 'pg'
import { cleanUp, inEnvironment } from './environment.mjs'

const messages = Number(process.argv[2] ?? 20_000)
/** Rows a step, as in core's `workers/maintenance.ts`. */
const STEP = 100
const tables = `select relname as name, pg_total_relation_size(c.oid) as bytes from pg_class c join pg_namespace n on n.oid = relnamespace
  where nspname = 'agent_messaging' and relkind = 'r' order by bytes desc`
const each = (bytes) => Math.round(Number(bytes) / messages)

try {
  for (const kind of ['sqlite', 'postgres']) {
    await inEnvironment(async ({ start, database }) => {
      const at = await database(kind)
      await (await start('fill', { database: at, messages })).ask('fill')
      console.log(`\n${kind}, ${messages} messages, bytes a message:`)
      console.table(kind === 'sqlite' ? { file: each(statSync(at).size) } : await tableSizes(at))
      console.log(
        await purged(
          kind === 'sqlite'
            ? openSqliteStorage({ path: at })
            : await openPostgresStorage({ connectionString: at }),
        ),
      )
    })
  }
} finally {
  await cleanUp()
}

async function purged({ deliveries, messages: stored, close }) {
  const before = Date.now() + 1
  const since = performance.now()
  const steps = [await stepsOf(deliveries, before), await stepsOf(stored, before)]
  const ms = performance.now() - since
  await close()
  const slowest = Math.max(...steps.flat())
  const each = ((1_000 * ms) / messages).toFixed(0)
  return `purge: ${each} µs per message, the longest of ${steps.flat().length} steps took ${slowest.toFixed(0)} ms`
}

/** Purges a store. Returns the duration of each step in ms. */
async function stepsOf(store, before) {
  const steps = []
  for (let rows = 1; rows > 0;) {
    const since = performance.now()
    rows = unwrap(await store.purge({ finishedBefore: before, limit: STEP }))
    steps.push(performance.now() - since)
  }
  return steps
}

async function tableSizes(connectionString) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(tables)
  await client.end()
  const sizes = rows.map(({ name, bytes }) => [name, each(bytes)]).filter(([, size]) => size > 0)
  return Object.fromEntries([
    ...sizes,
    ['together', sizes.reduce((sum, [, size]) => sum + size, 0)],
  ])
}

// `npm run bench`: each row is ours beside its floor and its peers, measured in turns in one run, because only ratios mean something on
// another machine. Asserts nothing and exits with 0, also when something is not at hand: then the table says what. `-- --row send` runs
// one row, `-- --rounds 5` measures more often, `-- --markdown` prints the table as docs/performance.md has it; each size is an option too.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { deliver, deliverPostgres } from './rows/deliver.mjs'
import { firstByte, hanging } from './rows/first-byte.mjs'
import { growthDeliver, growthSend } from './rows/growth.mjs'
import { latency } from './rows/latency.mjs'
import { pendingDeliveries, waitingCallers } from './rows/memory.mjs'
import { send, sendPostgres } from './rows/send.mjs'
import { soak } from './rows/soak.mjs'
import { twoServers } from './rows/two-servers.mjs'
import { clearStage, postgresVersion } from './stage.mjs'
import { line, table } from './table.mjs'
import { takeTurns } from './turns.mjs'

const rows = {
  send,
  latency,
  deliver,
  'deliver-postgres': deliverPostgres,
  'send-postgres': sendPostgres,
  'first-byte': firstByte,
  hanging,
  'two-servers': twoServers,
  'pending-deliveries': pendingDeliveries,
  'waiting-callers': waitingCallers,
  'growth-send': growthSend,
  'growth-deliver': growthDeliver,
  soak,
}

/** What the targets speak of, unless given. */
const SIZES = {
  seconds: 5, // of load
  connections: 50,
  messages: 4_000, // of one caller
  beside: 200, // messages a second beside a hanging receiver
  deliveries: 50_000,
  pending: 100_000,
  waiting: 5_000,
  stored: 1_000_000,
  minutes: 10, // of the soak
}

const sizeOptions = Object.fromEntries(
  Object.entries(SIZES).map(([name, size]) => [name, { type: 'string', default: String(size) }]),
)
const { values } = parseArgs({
  options: {
    row: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '3' },
    markdown: { type: 'boolean' },
    ...sizeOptions,
  },
})
const sizes = Object.fromEntries(Object.keys(SIZES).map((name) => [name, Number(values[name])]))
const chosen = values.row ?? Object.keys(rows).filter((name) => !rows[name].isLong)
const rounds = Number(values.rounds)
if (
  !chosen.every((name) => Object.hasOwn(rows, name)) ||
  ![rounds, ...Object.values(sizes)].every((size) => size > 0)
) {
  console.error(
    `--row takes one of: ${Object.keys(rows).join(', ')}\n--rounds, --${Object.keys(SIZES).join(', --')} take a number`,
  )
  process.exit(2)
}

for (const end of ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException']) {
  process.on(end, () => void clearStage().finally(() => process.exit(1)))
}
try {
  await run()
} finally {
  await clearStage()
}

async function run() {
  const lines = []
  const receivers = []
  for (const name of chosen) {
    console.error(`${name}: ${rows[name].measures(sizes)}`)
    const measured = await takeTurns(rows[name].contenders(sizes), rounds)
    lines.push(line(name, rows[name], { sizes, measured }))
    receivers.push(...measured.map(({ sample }) => ({ name, busy: sample?.receiverBusy ?? 0 })))
  }
  console.log(
    `${await machine()}, medians of ${rounds} rounds\n\n${table(lines, { bare: values.markdown })}\n\n${busiest(receivers)}`,
  )
}

/** A receiver that had no core to itself left would have been what we measured. */
function busiest(receivers) {
  const { name, busy } = receivers.reduce((most, one) => (one.busy > most.busy ? one : most))
  return `The receiver took ${busy.toFixed(2)} of a core where it took the most, in ${name}${busy > 0.8 ? ': it may have been the bottleneck there' : ''}.`
}

async function machine() {
  const version = await postgresVersion()
  return [
    `Node ${process.version}`,
    ...(version === undefined ? [] : [`PostgreSQL ${version}`]),
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}`,
  ].join(', ')
}

// `npm run bench`: measures the service next to a floor and peers, because only ratios compare
// between machines. Asserts nothing and exits with 0. The table says why a figure is missing.
//   -- --row send    runs one row
//   -- --rounds 5    measures more often
//   -- --write       writes figures.json and the pages that show it
// Each size is an option too.
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { rows } from './rows/index.mjs'
import { cleanUp, postgresVersion } from './environment.mjs'
import { publish } from './publish.mjs'
import { isMeasured, line, table } from './table.mjs'
import { measureRounds } from './rounds.mjs'

/** The default sizes. The targets refer to them. */
const SIZES = {
  seconds: 5, // Duration of the load.
  connections: 50,
  messages: 4_000, // Messages of one caller.
  beside: 200, // Messages per second in light rows and next to a hanging receiver.
  minute: 60, // Seconds of a fresh process, and of an idle one.
  settle: 10, // Seconds until a limit has settled.
  deliveries: 50_000,
  pending: 100_000,
  waiting: 5_000,
  stored: 1_000_000,
  minutes: 10, // Duration of long rows. A row can have its own default.
  kills: 10, // Kills of a server under load.
  projects: 1_000,
}

const sizeOptions = Object.fromEntries(Object.keys(SIZES).map((name) => [name, { type: 'string' }]))
const { values } = parseArgs({
  options: {
    row: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '3' },
    write: { type: 'boolean' },
    ...sizeOptions,
  },
})
const given = Object.fromEntries(
  Object.keys(SIZES).flatMap((name) => (name in values ? [[name, Number(values[name])]] : [])),
)
const chosen = values.row ?? Object.keys(rows).filter((name) => !rows[name].isLong)
const rounds = Number(values.rounds)
if (
  !chosen.every((name) => Object.hasOwn(rows, name)) ||
  ![rounds, ...Object.values(given)].every((size) => size > 0)
) {
  console.error(
    `--row takes one of: ${Object.keys(rows).join(', ')}\n--rounds, --${Object.keys(SIZES).join(', --')} take a number`,
  )
  process.exit(2)
}

for (const end of ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException']) {
  process.on(end, (cause) => {
    // The end of the programs would look like the failure of a row.
    console.error('interrupted by', end, cause instanceof Error ? cause : '')
    void cleanUp().finally(() => process.exit(1))
  })
}
try {
  await run()
} finally {
  await cleanUp()
}

async function run() {
  const lines = []
  const used = []
  for (const name of chosen) {
    const sizes = { ...SIZES, ...rows[name].sizes, ...given }
    console.error(`${name}: ${rows[name].measures(sizes)}`)
    const measured = await measureRounds(rows[name].contenders(sizes), rounds)
    lines.push(line(name, rows[name], { sizes, measured }))
    used.push(...measured.map(({ sample }) => ({ ...sample, name })))
  }
  const by = `${await machine()}, ${rounds === 1 ? 'one round' : `medians of ${rounds} rounds`}`
  console.log(`${by}\n\n${table(lines)}\n\n${busiest('receiver', used)} ${busiest('caller', used)}`)
  if (values.write) {
    const root = fileURLToPath(new URL('..', import.meta.url))
    publish(root, lines.filter(isMeasured), `${new Date().toISOString().slice(0, 10)}, ${by}`)
  }
}

/** Names the busiest receiver or caller, because without a free core it would be the bottleneck. */
function busiest(kind, used) {
  const [{ name, busy }] = used
    .map((sample) => ({ name: sample.name, busy: sample[`${kind}Busy`] ?? 0 }))
    .sort((one, another) => another.busy - one.busy)
  const warning = busy > 0.8 ? ` The ${kind} was possibly the bottleneck there.` : ''
  return `The ${kind} used at most ${busy.toFixed(2)} of a core, in ${name}.${warning}`
}

async function machine() {
  const version = await postgresVersion()
  return [
    `Node ${process.version}`,
    ...(version === undefined ? [] : [`PostgreSQL ${version}`]),
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}`,
  ].join(', ')
}

// `npm run bench`: each row is ours beside its floor, measured in turns in one run, because only ratios mean something on
// another machine. Asserts nothing. `-- --row send` runs one row, `-- --rounds 5` measures more often.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { deliver } from './rows/deliver.mjs'
import { send } from './rows/send.mjs'

const rows = { send, deliver }
const { values } = parseArgs({ options: { row: { type: 'string' }, rounds: { type: 'string', default: '3' } } })
const chosen = values.row === undefined ? Object.keys(rows) : [values.row]
if (!chosen.every((name) => name in rows)) {
  console.error(`--row takes one of: ${Object.keys(rows).join(', ')}`)
  process.exit(2)
}

console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, medians of ${values.rounds} rounds`)
for (const name of chosen) {
  const { title, contenders } = rows[name]
  const measured = await takeTurns(contenders, Number(values.rounds))
  print(title, measured)
}

/** Rounds go A B A B, so that a machine that slows down slows everybody. */
async function takeTurns(contenders, rounds) {
  const results = new Map(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, measure } of contenders) results.get(name).push(await measure())
  }
  return [...results].map(([name, samples]) => ({ name, ...medians(samples) }))
}

function medians(samples) {
  const keys = Object.keys(samples[0])
  return Object.fromEntries(keys.map((key) => [key, median(samples.map((sample) => sample[key]))]))
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

function print(title, measured) {
  const floor = measured.find(({ name }) => name.startsWith('floor'))
  console.log(`\n${title}`)
  console.table(
    Object.fromEntries(
      measured.map(({ name, perSecond, p50, p99, cpuMicros, ...more }) => [
        name,
        {
          'per second': Math.round(perSecond),
          'of the floor': (perSecond / floor.perSecond).toFixed(2),
          ...(p50 !== undefined && { 'p50 ms': p50, 'p99 ms': p99 }),
          'CPU µs each': Math.round(cpuMicros),
          ...more,
        },
      ]),
    ),
  )
}

// CPU per message of two servers over HTTP, in turns, so that other load hits both of them:
//   node benchmarks/compare.mjs postgres --base ../before              50 callers without pauses
//   node benchmarks/compare.mjs postgres --base ../before --rate 200   200 messages a second
//   node benchmarks/compare.mjs sqlite --webhooks 10                   without limits of sends, and with
// `base` is another built checkout, such as the commit before a change. Prints the mean of each, and
// the median and the quartiles of the ratios of pairs. Caller and receiver are not counted.
import path from 'node:path'
import { parseArgs } from 'node:util'
import { cleanUp, inEnvironment } from './environment.mjs'
import { allMicros, count, ms, quantile } from './rows/figures.mjs'
import { untilRecorded } from './rows/send.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    callers: { type: 'string', default: '50' },
    rate: { type: 'string' },
    webhooks: { type: 'string', default: '1' },
    turns: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '2' },
    warm: { type: 'string', default: '8' }, // Seconds of full load before the first turn.
  },
})
const [kind = 'sqlite'] = positionals
const [connections, webhooks, turns, seconds, warm] = [
  'callers',
  'webhooks',
  'turns',
  'seconds',
  'warm',
].map((name) => Number(values[name]))
const HERE = path.resolve(import.meta.dirname, '..')
const limit = { messagesPerMinute: 6_000_000, burst: 100_000 }
const [first, second] =
  values.base === undefined
    ? [
        { name: 'no limits', checkout: HERE },
        { name: 'limits', checkout: HERE, policy: { quotas: { project: limit, key: limit } } },
      ]
    : [
        { name: 'base', checkout: path.resolve(values.base) },
        { name: 'here', checkout: HERE },
      ]

const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length

/** Starts a server of a checkout. `turn` returns the figures of its messages. */
async function contender({ start, database }, { name, checkout, policy }) {
  const [receiver, caller] = [await start('receiver'), await start('caller')]
  const hooks = Array.from({ length: webhooks }, (_, n) => `${receiver.ready.url}?${n}`)
  const program = path.join(checkout, 'benchmarks/processes/server')
  const server = await start(path.relative(path.join(HERE, 'benchmarks/processes'), program), {
    database: await database(kind),
    policy,
    webhooks: hooks,
  })
  const parts = { kind, server, receiver, caller, webhooks }
  await untilRecorded(parts, { command: 'flood', connections: 50, seconds: warm })
  const load =
    values.rate === undefined
      ? { command: 'flood', connections, seconds }
      : { command: 'pace', connections: 10, rate: Number(values.rate), seconds }
  const turn = async () => {
    const figures = await untilRecorded(parts, load)
    return { ...figures, all: allMicros(figures) }
  }
  return { name, turn, turns: [] }
}

const FIGURES = {
  CPU: ['all', (n) => `${count(n)} µs`],
  'CPU of the server': ['cpuMicros', (n) => `${count(n)} µs`],
  ...(kind === 'postgres' && { 'CPU of the database': ['ofDatabase', (n) => `${count(n)} µs`] }),
  p50: ['p50', (n) => `${ms(n)} ms`],
  ...(values.rate === undefined && { 'messages a second': ['perSecond', count] }),
}

async function compare(environment) {
  const base = await contender(environment, first)
  const other = await contender(environment, second)
  for (let turn = 0; turn < turns; turn++)
    // The one after another pays for its garbage, so every other pair runs backwards.
    for (const one of turn % 2 === 0 ? [base, other] : [other, base])
      one.turns.push(await one.turn())
  for (const [figure, [key, read]] of Object.entries(FIGURES)) {
    const [before, after] = [base, other].map((one) => one.turns.map((turn) => turn[key]))
    const ratios = after.map((value, at) => value / before[at])
    const [low, ratio, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3))
    const [was, is] = [before, after].map((all) => read(mean(all)))
    console.log(
      `${figure}: ${base.name} ${was}, ${other.name} ${is}, ${ratio} × (${low} to ${high})`,
    )
  }
}

try {
  await inEnvironment(compare)
} finally {
  await cleanUp()
}

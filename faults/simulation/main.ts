import { parseArgs } from 'node:util'
import { simulate, type Simulation } from './simulate.js'

const USAGE = `Runs the service in simulated worlds, each as its seed wants it, and checks what was promised.

  --seeds 1..1000   these seeds; the first that breaks a promise ends it
  --seed 7          this one
  --verbose         prints what happened, a line for each thing
`

/** The first and the last seed. */
function rangeOf(seed: string | undefined, seeds = '1..1000'): [number, number] {
  const [from, to = from] = (seed ?? seeds).split('..').map(Number)
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to))
    throw new Error(`no seeds: ${seed ?? seeds}`)
  return [from as number, to as number]
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

function tell(
  { seed, hash, lines, breaches: { inside, outside } }: Simulation,
  isVerbose: boolean,
): boolean {
  if (isVerbose) say(`${lines.join('\n')}\nseed ${seed}: ${lines.length} lines, hash ${hash}`)
  const breaches = [...inside, ...outside]
  if (breaches.length === 0) return true
  say(
    `seed ${seed} breaks a promise; see what happened by: npm run simulate -- --seed ${seed} --verbose`,
  )
  for (const breach of breaches) say(`  ${breach}`)
  return false
}

const { seed, seeds, verbose, help } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
}).values
if (help) say(USAGE)
else await run(...rangeOf(seed, seeds))

async function run(from: number, to: number): Promise<void> {
  const sums = { seeds: 0, happenings: 0, messages: 0, requests: 0, faults: 0 }
  for (let next = from; next <= to; next++) {
    const simulation = await simulate(next)
    const { lines, history } = simulation
    sums.seeds++
    sums.happenings += lines.length
    sums.messages += history.final.messages.length
    sums.requests += history.received.length
    sums.faults += history.faults.length
    if (!tell(simulation, verbose)) {
      process.exitCode = 1
      break
    }
    if (sums.seeds % 1000 === 0) say(`${sums.seeds} seeds`)
  }
  say(JSON.stringify(sums))
}

import { parseArgs } from 'node:util'
import { simulate, type Simulation } from './simulate.js'

const USAGE = `Runs the service in simulations and checks its promises. A seed determines a simulation.

  --seeds 1..1000   runs these seeds and stops at the first broken promise
  --seed 7          runs one seed
  --verbose         prints each step
`

/** Returns the first and the last seed. */
function rangeOf(seed: string | undefined, seeds = '1..1000'): [number, number] {
  const [from, to = from] = (seed ?? seeds).split('..').map(Number)
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to))
    throw new Error(`--seed takes a number and --seeds a range, not ${seed ?? seeds}`)
  return [from as number, to as number]
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

function report(
  { seed, hash, lines, breaches: { inside, outside } }: Simulation,
  isVerbose: boolean,
): boolean {
  if (isVerbose) say(`${lines.join('\n')}\nseed ${seed}: ${lines.length} lines, hash ${hash}`)
  const breaches = [...inside, ...outside]
  if (breaches.length === 0) return true
  say(
    `seed ${seed} breaks a promise. To see its steps: npm run simulate -- --seed ${seed} --verbose`,
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
  const sums = { seeds: 0, steps: 0, messages: 0, requests: 0, faults: 0 }
  for (let next = from; next <= to; next++) {
    const simulation = await simulate(next)
    const { lines, history } = simulation
    sums.seeds++
    sums.steps += lines.length
    sums.messages += history.final.messages.length
    sums.requests += history.received.length
    sums.faults += history.faults.length
    if (!report(simulation, verbose)) {
      process.exitCode = 1
      break
    }
    if (sums.seeds % 1000 === 0) say(`${sums.seeds} seeds`)
  }
  say(JSON.stringify(sums))
}

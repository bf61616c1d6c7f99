// npm run faults -- --seed 1 --store sqlite --processes 1 --kills 200 [--faults kill,kill-at,…]
// npm run faults -- … --runs 10             repeats the run with the next seeds, and adds them up
// npm run faults -- --check history.json    checks the history of an earlier run
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { check } from './checker/check.js'
import type { History } from './checker/history.js'
import { summarize } from './checker/summary.js'
import { removeFolder, runScenario } from './scenario.js'
import { processFaults } from './harness/process-faults.js'
import type { StoreKind } from './harness/store.js'
import { missingFor, storeFaults } from './harness/store-faults.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1' },
    store: { type: 'string', default: 'sqlite' },
    processes: { type: 'string', default: '1' },
    kills: { type: 'string', default: '20' },
    faults: { type: 'string' },
    clients: { type: 'string', default: '8' },
    minutes: { type: 'string', default: '60' },
    pause: { type: 'string', default: '100' },
    erase: { type: 'boolean', default: false },
    check: { type: 'string' },
  },
})

/** The sums of all runs, and the most repeats after one kill. */
const sums = { runs: 0, kills: 0, events: 0, replays: 0, lost: 0, doubled: 0, mostRepeats: 0 }

if (values.check !== undefined)
  report(JSON.parse(await readFile(values.check, 'utf8')) as History, [])
else {
  const seed = Number(values.seed)
  const end = seed + Number(values.runs)
  for (let next = seed; next < end && !process.exitCode; next++) await runAndReport(next)
  print(`all runs: ${JSON.stringify(sums)}`)
}

async function runAndReport(seed: number): Promise<void> {
  const store = values.store as StoreKind
  const faults = await supported(values.faults?.split(',') ?? defaultFaults(store))
  const numbers = {
    seed,
    processes: Number(values.processes),
    kills: Number(values.kills),
    clients: Number(values.clients),
  }
  print(
    `seed ${numbers.seed}: ${numbers.kills} kills of ${numbers.processes} processes on ${store}, with ${faults.join(', ')}`,
  )
  let count = 0
  const stopped = new AbortController()
  process.on('SIGINT', () => stopped.abort()) // Arrives twice, from the terminal and from npm.
  setTimeout(() => stopped.abort(), Number(values.minutes) * 60_000).unref()
  const signal = stopped.signal
  const onFault = (): void => void (++count % 20 === 0 && print(`  ${count} faults`))
  const { history, unexpectedExits, folder } = await runScenario({
    ...numbers,
    store,
    faults,
    signal,
    pauseMs: Number(values.pause),
    erases: values.erase,
    onFault,
  })
  if (report(history, unexpectedExits)) return removeFolder(folder)
  const file = path.join(folder, 'history.json')
  await writeFile(file, JSON.stringify(history))
  print(`The run is kept in ${folder}. To check it again: npm run faults -- --check ${file}`)
}

/** Prints the result of a run. Returns true if the service kept all promises. */
function report(history: History, unexpectedExits: readonly string[]): boolean {
  const violations = check(history)
  const summary = summarize(history)
  print(JSON.stringify(summary, undefined, 2))
  const { events, lost, repeats, faults } = summary
  sums.runs++
  for (const [kind, count] of Object.entries(faults))
    if (kind.startsWith('kill')) sums.kills += count
  sums.events += events.accepted
  sums.replays += events.replays
  sums.lost += lost + events.lost
  sums.doubled += events.doubled
  sums.mostRepeats = Math.max(sums.mostRepeats, repeats.most)
  for (const { invariant, of, problem } of violations)
    print(`VIOLATION of ${invariant}: ${of}: ${problem}`)
  for (const exit of unexpectedExits) print(`VIOLATION: ${exit}`)
  print(`${violations.length + unexpectedExits.length} violations`)
  process.exitCode = violations.length + unexpectedExits.length === 0 ? 0 : 1
  return process.exitCode === 0
}

/** All faults except `purge`, which deletes rows that the checker reads. */
function defaultFaults(store: StoreKind): string[] {
  const ofStore = Object.keys(storeFaults).filter((name) => storeFaults[name]?.of.includes(store))
  return ['migration', ...Object.keys(processFaults).filter((name) => name !== 'purge'), ...ofStore]
}

async function supported(names: readonly string[]): Promise<string[]> {
  const unknown = names.find(
    (name) => name !== 'migration' && !(name in processFaults) && !(name in storeFaults),
  )
  if (unknown !== undefined) throw new Error(`unknown fault "${unknown}"`)
  const missing = await Promise.all(names.map(missingFor))
  for (const reason of missing) if (reason !== undefined) print(reason)
  return names.filter((_, index) => missing[index] === undefined)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

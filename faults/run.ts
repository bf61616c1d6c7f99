// npm run faults -- --seed 1 --store sqlite --processes 1 --kills 200 [--faults kill,kill-at,…]; --check file looks through a kept history again.
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { check } from './checker/check.js'
import type { History } from './checker/history.js'
import { summarize } from './checker/summary.js'
import { removeFolder, runScenario } from './scenario.js'
import { processFaults } from './world/process-faults.js'
import type { StoreKind } from './world/store.js'
import { lacking, storeFaults } from './world/store-faults.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'sqlite' },
    processes: { type: 'string', default: '1' },
    kills: { type: 'string', default: '20' },
    faults: { type: 'string' },
    clients: { type: 'string', default: '8' },
    minutes: { type: 'string', default: '60' },
    pause: { type: 'string', default: '100' },
    check: { type: 'string' },
  },
})

if (values.check !== undefined)
  report(JSON.parse(await readFile(values.check, 'utf8')) as History, [])
else await harassAndReport()

async function harassAndReport(): Promise<void> {
  const store = values.store as StoreKind
  const faults = await possible(values.faults?.split(',') ?? usual(store))
  const numbers = {
    seed: Number(values.seed),
    processes: Number(values.processes),
    kills: Number(values.kills),
    clients: Number(values.clients),
  }
  print(
    `seed ${numbers.seed}: ${numbers.kills} kills of ${numbers.processes} processes on ${store}, with ${faults.join(', ')}`,
  )
  let count = 0
  const stopped = new AbortController()
  process.on('SIGINT', () => stopped.abort()) // from the terminal, and once more from npm
  // Not `AbortSignal.any` with a timeout: on Node 20 the garbage collector takes that, and then it never fires.
  setTimeout(() => stopped.abort(), Number(values.minutes) * 60_000).unref()
  const over = stopped.signal
  const told = (): void => void (++count % 20 === 0 && print(`  ${count} faults`))
  const { history, accidents, folder } = await runScenario({
    ...numbers,
    store,
    faults,
    over,
    pauseMs: Number(values.pause),
    told,
  })
  if (report(history, accidents)) return removeFolder(folder)
  const file = path.join(folder, 'history.json')
  await writeFile(file, JSON.stringify(history))
  print(`kept in ${folder}; to check it again: npm run faults -- --check ${file}`)
}

/** Whether all is well. */
function report(history: History, accidents: readonly string[]): boolean {
  const violations = check(history)
  print(JSON.stringify(summarize(history), undefined, 2))
  for (const { invariant, of, what } of violations)
    print(`VIOLATION of ${invariant}: ${of}: ${what}`)
  for (const accident of accidents) print(`VIOLATION: ${accident}`)
  print(`${violations.length + accidents.length} violations`)
  process.exitCode = violations.length + accidents.length === 0 ? 0 : 1
  return process.exitCode === 0
}

/** All but `purge`, which takes away what the checker would look at. */
function usual(store: StoreKind): string[] {
  const ofStore = Object.keys(storeFaults).filter((name) => storeFaults[name]?.of.includes(store))
  return ['migration', ...Object.keys(processFaults).filter((name) => name !== 'purge'), ...ofStore]
}

async function possible(names: readonly string[]): Promise<string[]> {
  const stranger = names.find(
    (name) => name !== 'migration' && !(name in processFaults) && !(name in storeFaults),
  )
  if (stranger !== undefined) throw new Error(`there is no fault "${stranger}"`)
  const lacks = await Promise.all(names.map(lacking))
  for (const lack of lacks) if (lack !== undefined) print(lack)
  return names.filter((_, index) => lacks[index] === undefined)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

// Time and CPU of the SQL of sends and answers, by better-sqlite3 and by node:sqlite. Records the
// statements of the service with their values, and repeats them by both drivers on copies of one
// file, with the settings of the service. Rounds take turns. Needs Node 24:
//
//   npx --yes --package node@24 -- node benchmarks/drivers.mjs
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { wire } from '@org/agent-messaging-node/wiring'

/** Messages by the number of callers. */
const SENDS = { 1: 200, 50: 1_500 }
const ROUNDS = 5
const SETTINGS = [
  'journal_mode = wal',
  'synchronous = full',
  'fullfsync = on',
  'foreign_keys = on',
  'cache_size = -16384',
  'temp_store = memory',
  'wal_autocheckpoint = 4000',
]
const folder = mkdtempSync(path.join(tmpdir(), 'drivers-'))
const empty = path.join(folder, 'empty.db')

/** Steps of the service on its file: `[text, shape, method, values]`. */
let steps
let isRecording = false

function recordSteps(file) {
  steps = []
  const { prepare } = Database.prototype
  Database.prototype.prepare = function (text) {
    const statement = prepare.call(this, text)
    if (this.name !== file) return statement
    let shape = 'object'
    for (const mode of ['raw', 'pluck']) {
      const set = statement[mode]
      statement[mode] = function (...args) {
        shape = mode
        return set.apply(this, args)
      }
    }
    for (const method of ['run', 'get', 'all']) {
      const call = statement[method]
      statement[method] = function (...values) {
        const step = [text, shape, method, flat(text, values)]
        const result = call.apply(this, values)
        if (isRecording) steps.push(step)
        return result
      }
    }
    return statement
  }
  return () => (Database.prototype.prepare = prepare)
}

/** Returns values by place as a list, and values by name as an object. */
function flat(text, values) {
  const [first] = values
  if (Array.isArray(first)) return first
  if (values.length !== 1 || first === null || typeof first !== 'object') return values
  if (first instanceof Uint8Array) return values
  const names = [...text.matchAll(/[@:$](\w+)/g)].map(([, name]) => name)
  return [Object.fromEntries(names.filter((n) => n in first).map((n) => [n, first[n]]))]
}

/** Sends messages to an instant agent. A paused webhook gets a delivery of each answer. */
async function record(callers, sends) {
  const file = path.join(folder, `service-${callers}.db`)
  const stopRecording = recordSteps(file)
  const options = { databasePath: file, masterKey: new Uint8Array(32) }
  const agents = { echo: ({ message }) => message }
  const { service, close } = await wire({ ...options, agents }, () => undefined)
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'bench' })
  const runtime = { kind: 'function', handler: 'echo' }
  const agent = { projectId, name: 'echo', runtime, desiredState: 'running' }
  await service.agents.create(agent)
  const webhook = { projectId, url: 'https://example.com/', events: ['*'], paused: true }
  await service.webhooks.create(webhook)

  const db = new Database(file)
  db.pragma('wal_checkpoint(truncate)')
  db.close()
  copyFileSync(file, empty)
  isRecording = true
  let next = 0
  const sender = async () => {
    while (next < sends) {
      const number = next++
      const message = { agent: 'echo', sessionId: `s${number}`, message: 'hello' }
      const key = { idempotencyKey: `key ${number}` }
      await service.messages.send({ projectId, ...message, ...key })
    }
  }
  await Promise.all(Array.from({ length: callers }, sender))
  isRecording = false
  await service.stop()
  await close()
  stopRecording()
}

const drivers = {
  'better-sqlite3': (file) => {
    const db = new Database(file)
    for (const setting of SETTINGS) db.pragma(setting)
    return {
      close: () => db.close(),
      prepare: (text, shape) => {
        const statement = db.prepare(text)
        return shape === 'object' ? statement : statement[shape]()
      },
    }
  },
  'node:sqlite': (file) => {
    const db = new DatabaseSync(file)
    for (const setting of SETTINGS) db.exec(`pragma ${setting}`)
    return {
      close: () => db.close(),
      prepare: (text, shape) => {
        const statement = db.prepare(text)
        statement.setReturnArrays(shape !== 'object')
        return statement
      },
    }
  },
}

/** Repeats the recorded steps. Returns the microseconds and the CPU microseconds per message. */
function repeat(open, sends) {
  const file = path.join(folder, 'copy.db')
  copyFileSync(empty, file)
  const { prepare, close } = open(file)
  const statements = new Map()
  const calls = steps.map(([text, shape, method, values]) => {
    const key = `${shape} ${text}`
    if (!statements.has(key)) statements.set(key, prepare(text, shape))
    return [statements.get(key), method, values]
  })
  globalThis.gc?.()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  for (const [statement, method, values] of calls) statement[method](...values)
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  close()
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  return { time: (ms * 1_000) / sends, cpu: (user + system) / sends }
}

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]

try {
  for (const [callers, sends] of Object.entries(SENDS)) {
    await record(Number(callers), sends)
    console.log(`${callers} callers, ${(steps.length / sends).toFixed(1)} statements per message`)
    const figures = Object.fromEntries(Object.keys(drivers).map((name) => [name, []]))
    for (let round = 0; round <= ROUNDS; round++) {
      const order = Object.keys(drivers)
      if (round % 2 === 1) order.reverse()
      for (const name of order) {
        const figure = repeat(drivers[name], sends)
        if (round > 0) figures[name].push(figure) // The first round compiles.
      }
    }
    for (const part of ['time', 'cpu']) {
      const [ours, other] = Object.values(figures).map((all) => median(all.map((f) => f[part])))
      const ratios = figures['node:sqlite'].map(
        (f, n) => f[part] / figures['better-sqlite3'][n][part],
      )
      console.log(
        `  ${part}: better-sqlite3 ${ours.toFixed(0)} µs, node:sqlite ${other.toFixed(0)} µs, ` +
          `median of the ratios ${median(ratios).toFixed(2)}`,
      )
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

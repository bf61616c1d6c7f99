// CPU per message and sends per second with quotas on, as a ratio of quotas off. The services run
// in one process and take turns of a few hundred sends, so that other load of the machine hits all
// of them. SERVICE_DATABASE_URLS: three PostgreSQL databases, by commas. Default: SQLite files.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { wire } from '@org/agent-messaging-node/wiring'

const SENDS = 256
const WIDTH = 64
const WARM_ROUNDS = 20
const ROUNDS = 120
const limit = { messagesPerMinute: 6_000_000, burst: 100_000 }
const MODES = { off: undefined, counts: {}, 'counts and limits': { project: limit, key: limit } }
const databases = process.env.SERVICE_DATABASE_URLS?.split(',') ?? []

async function open([name, quotas], at) {
  const folder = mkdtempSync(path.join(tmpdir(), 'quotas-'))
  const { service, close } = await wire(
    {
      databasePath: databases[at] ?? path.join(folder, 'bench.db'),
      masterKey: new Uint8Array(32),
      agents: { echo: ({ message }) => message },
      policy: { quotas },
    },
    () => undefined,
  )
  await service.start()
  const project = (await service.projects.create({ name: 'bench' }))._unsafeUnwrap()
  const runtime = { kind: 'function', handler: 'echo' }
  const agent = { projectId: project.id, name: 'echo', runtime, desiredState: 'running' }
  ;(await service.agents.create(agent))._unsafeUnwrap()
  let next = 0
  const send = async () => {
    const message = { agent: 'echo', sessionId: `s${next++}`, message: 'hello', apiKeyId: 'key' }
    ;(await service.messages.send({ projectId: project.id, ...message }))._unsafeUnwrap()
  }
  return {
    name,
    turns: [],
    turn: () => measured(send),
    end: async () => {
      await service.stop()
      await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function measured(send) {
  let left = SENDS
  const sender = async () => {
    while (left-- > 0) await send()
  }
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: WIDTH }, sender))
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  return { micros: (user + system) / SENDS, rate: (SENDS / ms) * 1_000 }
}

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
const services = []
for (const [at, mode] of Object.entries(MODES).entries()) services.push(await open(mode, at))
for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
  // One service pays for garbage of the service before it, so every other round runs backwards.
  const first = Math.abs(round) % services.length
  const order = [...services.slice(first), ...services.slice(0, first)]
  for (const one of round % 2 === 0 ? order : order.toReversed()) {
    const turn = await one.turn()
    if (round >= 0) one.turns.push(turn)
  }
}
const [off] = services
for (const { name, turns } of services) {
  const cpu = median(turns.map(({ micros }, at) => off.turns[at].micros / micros))
  const rate = median(turns.map((turn, at) => turn.rate / off.turns[at].rate))
  const micros = median(turns.map((turn) => turn.micros))
  console.log(
    `${name}: ${micros.toFixed(0)} µs of CPU per message. Ratios to off: ` +
      `messages per CPU second ${cpu.toFixed(2)}, messages per second ${rate.toFixed(2)}`,
  )
}
for (const one of services) await one.end()

// CPU per message: `node benchmarks/quotas.mjs [sqlite|postgres] [webhooks]`. The services run in one
// process and take turns of a second, so that other load of the machine hits both of them. Each
// message has a delivery to each of the webhooks, by default 1. The first service is of the built
// checkout BASE, such as the commit before a change. Without BASE, the first one has no limits of
// sends, and the second one has them. TURNS: turns of each, by default 30.
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import { databaseMicros, cleanUp, inEnvironment } from './environment.mjs'

const [kind = 'sqlite', webhooks = '1'] = process.argv.slice(2)
const WEBHOOKS = Number(webhooks)
/** About a second of work, because counts are folded once a second. */
const SENDS = Math.round(2_000 / (1 + WEBHOOKS / 3))
const WIDTH = 64
const WARM_TURNS = 4
const TURNS = Number(process.env.TURNS ?? 30)
const limit = { messagesPerMinute: 6_000_000, burst: 100_000 }
const HERE = path.resolve(import.meta.dirname, '..')
const { BASE } = process.env
const CONTENDERS =
  BASE === undefined
    ? [
        { name: 'no limits', checkout: HERE },
        { name: 'limits', checkout: HERE, quotas: { project: limit, key: limit } },
      ]
    : [
        { name: 'base', checkout: BASE },
        { name: 'here', checkout: HERE },
      ]

async function open({ name, checkout, quotas }, databasePath, receiver) {
  const wiring = pathToFileURL(path.resolve(checkout, 'packages/node/dist/wiring.js'))
  const { wire } = await import(wiring.href)
  let delivered = 0
  const { service, storage, close } = await wire(
    {
      databasePath,
      masterKey: new Uint8Array(32),
      agents: { echo: ({ message }) => message },
      addresses: { allowLoopback: true, allowHttp: true },
      webhookThread: true,
      telemetry: { record: ({ name: fact }) => (delivered += fact === 'delivery.attempted') },
      policy: { quotas },
    },
    () => undefined,
  )
  await service.start()
  const projectId = (await service.projects.create({ name: 'bench' }))._unsafeUnwrap().id
  const runtime = { kind: 'function', handler: 'echo' }
  const agent = { projectId, name: 'echo', runtime, desiredState: 'running' }
  ;(await service.agents.create(agent))._unsafeUnwrap()
  for (let n = 0; n < WEBHOOKS; n++) {
    const webhook = { projectId, url: `${receiver}?${n}`, events: ['message.responded'] }
    ;(await service.webhooks.create(webhook))._unsafeUnwrap()
  }
  let next = 0
  const send = async () => {
    const message = { agent: 'echo', sessionId: `s${next++}`, message: 'hello', apiKeyId: 'key' }
    ;(await service.messages.send({ projectId, ...message }))._unsafeUnwrap()
  }
  return {
    name,
    turns: [],
    turn: () => measured(send, () => delivered, storage.counts),
    end: () => service.stop().then(close),
  }
}

/** Folds the counts of the turn, or a timer folds them in the turn of another service. */
async function measured(send, delivered, counts) {
  let left = SENDS
  const sender = async () => {
    while (left-- > 0) await send()
  }
  const ofDatabase = await databaseMicros(kind)
  const end = delivered() + SENDS * WEBHOOKS
  const cpu = process.cpuUsage()
  await Promise.all(Array.from({ length: WIDTH }, sender))
  while (delivered() < end) await new Promise((resolve) => setTimeout(resolve, 1))
  await counts?.fold(1_000)
  const { user, system } = process.cpuUsage(cpu)
  return {
    micros: (user + system) / SENDS,
    ofDatabase: ((await databaseMicros(kind)) - ofDatabase) / SENDS,
  }
}

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length

await inEnvironment(async ({ start, database }) => {
  const receiver = await start('receiver')
  const services = []
  for (const contender of CONTENDERS)
    services.push(await open(contender, await database(kind), receiver.ready.url))
  for (let turn = -WARM_TURNS; turn < TURNS; turn++) {
    // One service pays for garbage of the service before it, so every other turn runs backwards.
    for (const one of turn % 2 === 0 ? services : services.toReversed()) {
      const measuredTurn = await one.turn()
      if (turn >= 0) one.turns.push(measuredTurn)
    }
  }
  const [first] = services
  for (const { name, turns } of services) {
    const micros = turns.map((turn) => turn.micros)
    const ratio = median(micros.map((one, at) => one / first.turns[at].micros))
    const least = Math.min(...micros) / Math.min(...first.turns.map((turn) => turn.micros))
    console.log(
      `${name}: ${median(micros).toFixed(0)} µs of CPU per message, ${ratio.toFixed(3)} × the first, ` +
        `least ${Math.min(...micros).toFixed(0)} µs, ${least.toFixed(3)} ×, ` +
        `database ${mean(turns.map((turn) => turn.ofDatabase)).toFixed(0)} µs`,
    )
  }
  for (const { end } of services) await end()
})
await cleanUp()

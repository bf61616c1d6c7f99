// Sends per second with spans off, with and without a trace of the client, and with spans on. Modes
// take turns. Each rate has its ratio to the first mode. The exporter drops the spans.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { wire } from '@org/agent-messaging-node/wiring'
import { TracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import { openTelemetryTracing } from '../packages/server/dist/telemetry/otlp-traces.js'

const SENDS = 3_000
const WIDTH = 64
const ROUNDS = 5
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const dropped = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
}
const provider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter: dropped })],
})
const tracing = openTelemetryTracing(provider.getTracer('bench'))
const MODES = {
  'off, without a trace': {},
  'off, with a trace': { headers: { traceparent } },
  on: { headers: { traceparent }, tracing },
}

async function sendsPerSecond({ headers = {}, tracing: used }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'tracing-'))
  const { service, close } = await wire(
    {
      databasePath: path.join(folder, 'bench.db'),
      masterKey: new Uint8Array(32),
      agents: { echo: ({ message }) => message },
      tracing: used,
    },
    () => undefined,
  )
  await service.start()
  const project = await service.projects.create({ name: 'bench' })
  const runtime = { kind: 'function', handler: 'echo' }
  const agent = { projectId: project.id, name: 'echo', runtime, desiredState: 'running' }
  await service.agents.create(agent)
  let next = 0
  const sender = async () => {
    while (next < SENDS) {
      const message = { agent: 'echo', sessionId: `s${next++}`, message: 'hello', ...headers }
      await service.messages.send({ projectId: project.id, ...message })
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: WIDTH }, sender))
  const rate = SENDS / ((performance.now() - startedAt) / 1_000)
  await service.stop()
  await close()
  rmSync(folder, { recursive: true, force: true })
  return rate
}

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
const rates = new Map(Object.keys(MODES).map((name) => [name, []]))
for (let round = 0; round < ROUNDS; round++)
  for (const [name, mode] of Object.entries(MODES)) rates.get(name).push(await sendsPerSecond(mode))
const off = median(rates.get('off, without a trace'))
for (const [name, all] of rates)
  console.log(
    `${name}: ${Math.round(median(all))} sends/s, ratio ${(median(all) / off).toFixed(2)}`,
  )

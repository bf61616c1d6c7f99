import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from '@org/agent-messaging-server'
import { usage } from './usage.mjs'

const [url, count] = process.argv.slice(2)
const WEBHOOKS = 10
const folder = mkdtempSync(path.join(tmpdir(), 'bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit())
const key = 'the-api-key-of-the-benchmark'
let delivered = 0
const { service } = await createServer({
  port: 0,
  databasePath: path.join(folder, 'service.db'),
  masterKey: Buffer.alloc(32, 1),
  addresses: { allowLoopback: true, allowHttp: true },
  bootstrapApiKey: key,
  telemetry: { record: ({ name }) => (delivered += name === 'delivery.attempted' ? 1 : 0) },
})
const { projectId } = (await service.keys.authenticate(key))._unsafeUnwrap()
const runtime = { kind: 'function', handler: 'echo' }
;(await service.agents.create({ projectId, name: 'echo', runtime, desiredState: 'running', concurrency: 100 }))._unsafeUnwrap()

// The backlog: events of receivers that are disabled until the clock runs.
const webhooks = []
for (let n = 0; n < WEBHOOKS; n++) {
  const created = await service.webhooks.create({ projectId, url, events: ['message.responded'], enabled: false })
  webhooks.push(created._unsafeUnwrap().webhook.id)
}
for (let sent = 0; sent < Number(count) / WEBHOOKS; sent += 100) {
  const batch = Array.from({ length: 100 }, (_, n) =>
    service.messages.send({ projectId, agent: 'echo', sessionId: `${sent + n}`, message: 'x'.repeat(200) }),
  )
  for (const result of await Promise.all(batch)) result._unsafeUnwrap()
}
process.on('message', async () => {
  const before = usage()
  const start = performance.now()
  await Promise.all(webhooks.map((webhookId) => service.webhooks.update({ projectId, webhookId, change: { enabled: true } })))
  while (delivered < Number(count)) await new Promise((resolve) => setTimeout(resolve, 1))
  process.send({ seconds: (performance.now() - start) / 1000, cpuMicros: usage().cpuMicros - before.cpuMicros })
})
process.send({})

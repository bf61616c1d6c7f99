import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from '@org/agent-messaging-server'
import { usage } from './usage.mjs'

const [receiverUrl] = process.argv.slice(2)
const folder = mkdtempSync(path.join(tmpdir(), 'bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit())
const key = 'the-api-key-of-the-benchmark'
const { service, url } = await createServer({
  port: 0,
  databasePath: path.join(folder, 'service.db'),
  masterKey: Buffer.alloc(32, 1),
  addresses: { allowLoopback: true, allowHttp: true },
  bootstrapApiKey: key,
  overrideGlobalObjects: true, // as the CLI has it
})
const { projectId } = (await service.keys.authenticate(key))._unsafeUnwrap()
const runtime = { kind: 'function', handler: 'echo' }
;(await service.agents.create({ projectId, name: 'echo', runtime, desiredState: 'running', concurrency: 100 }))._unsafeUnwrap()
;(await service.webhooks.create({ projectId, url: receiverUrl, events: ['message.responded'] }))._unsafeUnwrap()
process.send({ url: `${url}/v1/agents/echo/messages`, headers: { authorization: `Bearer ${key}` } })
process.on('message', () => process.send(usage()))
